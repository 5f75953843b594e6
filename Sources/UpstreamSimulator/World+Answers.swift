import HTTP
import JSONText

/// What is there, before anybody asks whether it is new.
extension World {
  /// The representation with the body's hash as `ETag`, or the reason why there is none.
  mutating func found(_ ask: Ask, _ route: Route, _ credential: Credential, _ fault: Fault.Effect?) -> Reply {
    if let fault, let refusal = refusal(fault) { return refusal }
    switch route {
    case .profile(let person):
      return visible(person).map { profile($0, credential) } ?? .message(.notFound, "Not Found")
    case .list(let person, let kind):
      guard let owner = visible(person) else { return .message(.notFound, "Not Found") }
      if let fault { drift(ListKey(owner: owner, kind: .followers), fault) }
      return page(ListKey(owner: owner, kind: kind), ask.target)
    case .searchUsers: return search(ask.target, fault)
    case .searchRepositories: return searchRepositories(ask.target, fault)
    case .items(let person, let items):
      guard let owner = visible(person) else { return .message(.notFound, "Not Found") }
      if items == .repos, let fault { drift(owner, fault) }
      return itemPage(owner, items, ask.target)
    case .repository(let repository, let part):
      return self.repository(repository, part, ask.target)
    case .relation(let follower, let owner):
      return follows(follower, owner) ? Reply(.noContent, [:]) : .message(.notFound, "Not Found")
    case .rateLimit, .avatar, .unknown:
      return .message(.notFound, "Not Found")
    }
  }

  /// Whom somebody with a private profile follows is nobody's business, so the answer is no, as for strangers.
  private func follows(_ follower: String, _ owner: String) -> Bool {
    guard let follower = network.visibleID(ofLogin: follower), let owner = network.visibleID(ofLogin: owner) else {
      return false
    }
    return !network.isPrivate(follower) && network.follows(owner, by: follower)
  }

  private func visible(_ person: Route.Person) -> Int64? {
    switch person {
    case .login(let login): network.visibleID(ofLogin: login)
    case .id(let id): network.isVisible(id) ? id : nil
    }
  }

  private mutating func profile(_ id: Int64, _ credential: Credential) -> Reply {
    guard let card = network.card(id) else { return .message(.notFound, "Not Found") }
    var profile = network.profile(card)
    if let counts = network.itemCounts(id) {
      profile.publicRepos = repositories.list(of: id).count
      profile.publicGists = counts.gists
    }
    let isPrivate = network.isPrivate(id)
    let followers = network.list(ListKey(owner: id, kind: .followers))
    let following = network.list(ListKey(owner: id, kind: .following))
    let body = renderer.profile(
      card, profile,
      followers: isPrivate ? 0 : followers.count + followers.countedButHidden,
      following: isPrivate ? 0 : following.count + following.countedButHidden,
      showsEmail: credential.isAuthorized)
    return Reply(
      .ok,
      [
        .contentType: Reply.json, .etag: EntityTag(hashing: body).opaque,
        .lastModified: HTTPDate.format(profile.updatedAt),
      ], body: body)
  }

  private mutating func page(_ key: ListKey, _ target: Target) -> Reply {
    let list = network.list(key)
    let page = Page(target.query, count: network.isPrivate(key.owner) ? 0 : list.count)
    let (network, renderer) = (network, renderer)
    let finished = pages.page(key, page, version: network.version) {
      renderer.list(page.positions.lazy.compactMap { network.card(list[$0]) })
    }
    var reply = Reply(.ok, [.contentType: Reply.json, .etag: finished.hash], body: finished.body)
    let path = "\(base)/user/\(key.owner)/\(key.kind.rawValue)"
    reply.links = page.links(path, target.query)
    reply.address = Page.address(path, target.query, page.number)
    return reply
  }

  private mutating func drift(_ key: ListKey, _ fault: Fault.Effect) {
    let list = network.list(key)
    switch fault {
    case .dropFirst:
      if list.count > 0 { network.unfollow(key.owner, by: list[0]) }
    case .insertFirst:
      var number = Seed.mix(UInt64(network.version))
      while !network.follow(key.owner, by: network.person(number)) { number = Seed.mix(number) }
    default:
      break
    }
  }

  func rateLimit(_ credential: Credential, _ now: Int64) -> Reply {
    guard limits.tellsBudgets else { return .message(.notFound, "Rate limiting is not enabled.") }
    var json = JSONWriter(capacity: 512)
    func write(_ resource: Resource) {
      let budget = budgets.budget(credential, resource, now: now)
      json.beginObject()
      json.key("limit")
      json.int(budget.limit)
      json.key("used")
      json.int(budget.used)
      json.key("remaining")
      json.int(budget.remaining)
      json.key("reset")
      json.int(budget.reset)
      json.endObject()
    }
    json.beginObject()
    json.key("resources")
    json.beginObject()
    for resource in Resource.allCases {
      json.key(resource.rawValue)
      write(resource)
    }
    json.endObject()
    json.key("rate")
    write(.core)
    json.endObject()
    var reply = Reply(.ok, [.contentType: Reply.json, .cacheControl: "no-cache"], body: json.bytes)
    budgets.tell(credential, .core, now: now, in: &reply.fields)
    return reply
  }
}
