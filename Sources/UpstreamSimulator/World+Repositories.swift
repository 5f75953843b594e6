import HTTP
import JSONText

/// Repositories, and lists of things.
extension World {
  // MARK: Lists

  /// A page of repositories, gists or organizations.
  mutating func itemPage(_ owner: Int64, _ items: Route.Items, _ target: Target) -> Reply {
    guard let card = network.card(owner) else { return .message(.notFound, "Not Found") }
    var json = JSONWriter(capacity: 128 * 1024)
    json.beginArray()
    let page: Page
    switch items {
    case .repos:
      let list = repositories(of: owner, target.query)
      page = Page(target.query, count: list.count)
      for repository in list[page.positions] {
        if let owner = network.card(repository.owner) {
          repositoryRenderer.append(repository, owner: owner, isFull: false, to: &json)
        }
      }
    case .gists:
      page = Page(target.query, count: network.itemCounts(owner)?.gists ?? 0)
      for number in page.positions { repositoryRenderer.appendGist(number, owner: card, to: &json) }
    case .orgs:
      let list = network.organizations(of: owner)
      page = Page(target.query, count: list.count)
      for organization in list[page.positions] { repositoryRenderer.appendOrganization(organization, to: &json) }
    }
    json.endArray()
    var reply = Reply(.ok, [.contentType: Reply.json, .etag: EntityTag(hashing: json.bytes).opaque], body: json.bytes)
    let path = "\(base)/user/\(owner)/\(items.rawValue)"
    reply.links = page.links(path, target.query)
    reply.address = Page.address(path, target.query, page.number)
    return reply
  }

  /// The list in the order that is asked for. Others' repositories, which `type=member` is about, are those of the first
  /// organization.
  func repositories(of owner: Int64, _ query: Target.Query) -> [Repository] {
    let own = repositories.list(of: owner)
    let others = memberRepositories(of: owner)
    var list =
      switch query["type"] {
      case "all": own + others
      case "member": others
      default: own
      }
    let sort = query["sort"] ?? "full_name"
    list.sort { a, b in
      switch sort {
      case "created": (a.createdAt, a.id) < (b.createdAt, b.id)
      case "updated": (a.updatedAt, a.id) < (b.updatedAt, b.id)
      case "pushed": (a.pushedAt, a.id) < (b.pushedAt, b.id)
      default: (a.key, a.id) < (b.key, b.id)
      }
    }
    let direction = query["direction"] ?? (sort == "full_name" ? "asc" : "desc")
    return direction == "desc" ? list.reversed() : list
  }

  private func memberRepositories(of owner: Int64) -> [Repository] {
    network.organizations(of: owner).first.map { repositories.list(of: $0.id) } ?? []
  }

  mutating func drift(_ owner: Int64, _ fault: Fault.Effect) {
    switch fault {
    case .dropFirst:
      if let first = repositories.list(of: owner).first { repositories.edit(first.id) { $0.state = .deleted } }
    case .insertFirst:
      // A new repository has a name of its own.
      _ = try? repositories.make("new-\(traffic.total)", owner: owner, at: clock.now)
    default: break
    }
  }

  /// Makes somebody by name, with the repositories they are born with.
  mutating func add(_ user: Simulator.Configuration.User) throws(Network.Refusal) -> Int64 {
    let id = try network.add(user)
    repositories.seed(min(4_000, user.repositories), owner: id)
    return id
  }

  // MARK: Search

  /// Repositories with the words in their name, by id or by stars; with the refusals of a search for people.
  func searchRepositories(_ target: Target, _ fault: Fault.Effect?) -> Reply {
    let query = target.query
    guard let text = query["q"], text.contains(where: { $0 != " " }) else {
      return World.invalidSearch("missing", nil)
    }
    let word = text.split(separator: " ").filter { !$0.contains(":") }.joined(separator: " ").lowercased()
    var found = repositories.all.filter { $0.key.contains(word) && network.isVisible($0.owner) }
    if query["sort"] == "stars" { found.sort { ($1.stars, $0.id) < ($0.stars, $1.id) } }
    if query["sort"] != nil, query["order"] == "asc" { found.reverse() }
    let page = Page(query, count: min(found.count, World.searchCap))
    guard (page.number - 1) * page.size < World.searchCap else {
      return .message(.unprocessableContent, "Only the first 1000 search results are available")
    }
    var shown = page.positions.map { found[$0] }
    if fault == .unstableSearch, page.positions.lowerBound > 0 { shown = page.positions.map { found[$0 - 1] } }
    if fault == .incompleteSearch { shown = Array(shown.prefix(shown.count / 2)) }
    var json = JSONWriter(capacity: 6_000 * shown.count + 64)
    json.beginObject()
    json.key("total_count")
    json.int(found.count)
    json.key("incomplete_results")
    json.bool(fault == .incompleteSearch)
    json.key("items")
    json.beginArray()
    for repository in shown {
      guard let owner = network.card(repository.owner) else { continue }
      var item = JSONWriter(capacity: 6_000)
      repositoryRenderer.append(repository, owner: owner, isFull: false, to: &item)
      item.bytes.withUnsafeBytes { bytes in
        json.rawObject(bytes) { json in
          json.key("score")
          json.raw("1.0")
        }
      }
    }
    json.endArray()
    json.endObject()
    var reply = Reply(.ok, [.contentType: Reply.json, .cacheControl: "no-cache"], body: json.bytes)
    reply.links = page.links("\(base)/search/repositories", query)
    return reply
  }

  // MARK: One repository

  func repository(_ reference: Route.Repository, _ part: Route.Part, _ target: Target) -> Reply {
    let found: Repository
    switch reference {
    case .id(let id):
      guard let repository = repositories[id] else { return .message(.notFound, "Not Found") }
      found = repository
    case .name(let owner, let name):
      if let ownerID = network.visibleID(ofLogin: owner), let id = repositories.id(owner: ownerID, name: name),
        let repository = repositories[id]
      {
        found = repository
      } else if let id = former(owner, name), let repository = repositories[id], isVisible(repository) {
        let query = target.rawQuery.map { "?\($0)" } ?? ""
        return .moved(to: "\(base)/repositories/\(id)\(part.rawValue)\(query)")
      } else {
        return .message(.notFound, "Not Found")
      }
    }
    guard isVisible(found), let owner = network.card(found.owner) else { return .message(.notFound, "Not Found") }
    if found.state == .takenDown { return .takenDown }
    if found.state == .blocked { return .blocked }
    switch part {
    case .record: return record(found, owner)
    case .languages: return languages(found)
    case .commits: return commits(found, owner, target)
    }
  }

  private func isVisible(_ repository: Repository) -> Bool {
    repository.state != .deleted && network.isVisible(repository.owner)
  }

  /// The repository that left a name, or whose owner did.
  private func former(_ owner: String, _ name: String) -> Int64? {
    let owners = [network.visibleID(ofLogin: owner), network.formerLogins[owner.lowercased()]].compactMap { $0 }
    for owner in owners {
      if let id = repositories.id(owner: owner, name: name) ?? repositories.former(owner: owner, name: name) {
        return id
      }
    }
    return nil
  }

  private func record(_ repository: Repository, _ owner: Card) -> Reply {
    var json = JSONWriter(capacity: 8 * 1024)
    repositoryRenderer.append(repository, owner: owner, isFull: true, to: &json)
    return World.reply(json.bytes, modified: repository.updatedAt)
  }

  private func languages(_ repository: Repository) -> Reply {
    var json = JSONWriter()
    json.beginObject()
    for (name, bytes) in repository.languages {
      json.key(name)
      json.int(bytes)
    }
    json.endObject()
    return World.reply(json.bytes, modified: repository.pushedAt)
  }

  private func commits(_ repository: Repository, _ owner: Card, _ target: Target) -> Reply {
    if repository.commits == 0 { return .message(.conflict, "Git Repository is empty.") }
    let page = Page(target.query, count: repository.commits)
    var json = JSONWriter(capacity: 64 * 1024)
    json.beginArray()
    for position in page.positions {
      let number = repository.commits - 1 - position
      repositoryRenderer.appendCommit(number, of: repository, owner: owner, to: &json)
    }
    json.endArray()
    let newest = max(0, repository.commits - 1 - page.positions.lowerBound)
    var reply = World.reply(json.bytes, modified: RepositoryRenderer.date(newest, repository))
    let path = "\(base)/repositories/\(repository.id)/commits"
    reply.links = page.links(path, target.query)
    reply.address = Page.address(path, target.query, page.number)
    return reply
  }

  private static func reply(_ body: [UInt8], modified: Int64) -> Reply {
    Reply(
      .ok,
      [.contentType: Reply.json, .etag: EntityTag(hashing: body).opaque, .lastModified: HTTPDate.format(modified)],
      body: body)
  }
}
