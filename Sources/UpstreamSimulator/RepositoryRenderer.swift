import HTTP
import JSONText

/// Writes repositories, their commits, gists and organizations in GitHub's shapes.
struct RepositoryRenderer: Sendable {
  let base: String
  let users: UserRenderer
  let seed: Seed

  /// Ends of the addresses below a repository, by the member's name.
  private static let parts: [(name: String, path: String)] = [
    ("archive_url", "/{archive_format}{/ref}"), ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"), ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"), ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"), ("contributors_url", "/contributors"), ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"), ("events_url", "/events"), ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"), ("git_refs_url", "/git/refs{/sha}"), ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"), ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"), ("keys_url", "/keys{/key_id}"), ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"), ("merges_url", "/merges"), ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"), ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"), ("stargazers_url", "/stargazers"), ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"), ("subscription_url", "/subscription"), ("tags_url", "/tags"),
    ("teams_url", "/teams"), ("trees_url", "/git/trees{/sha}"),
  ]

  /// A list item (`MinimalRepository`) or, if `isFull`, the record.
  func append(_ repository: Repository, owner: Card, isFull: Bool, to json: inout JSONWriter) {
    let fullName = "\(owner.login)/\(repository.name)"
    let url = "\(base)/repos/\(UserRenderer.escaped(owner.login))/\(repository.name)"
    json.beginObject()
    json.key("id")
    json.int(repository.id)
    json.key("node_id")
    json.string("R_\(repository.id)")
    json.key("name")
    json.string(repository.name)
    json.key("full_name")
    json.string(fullName)
    json.key("private")
    json.bool(false)
    json.key("owner")
    appendUser(owner, to: &json)
    json.key("html_url")
    json.string("https://github.com/\(fullName)")
    json.key("description")
    json.optional(repository.description)
    json.key("fork")
    json.bool(repository.isFork)
    json.key("url")
    json.string(url)
    for part in RepositoryRenderer.parts {
      json.key(part.name)
      json.string(url + part.path)
    }
    for (name, stamp) in [
      ("created_at", repository.createdAt), ("updated_at", repository.updatedAt), ("pushed_at", repository.pushedAt),
    ] {
      json.key(name)
      json.string(Timestamp(seconds: stamp).description)
    }
    for (name, start) in [
      ("git_url", "git://github.com/"), ("ssh_url", "git@github.com:"), ("clone_url", "https://github.com/"),
    ] {
      json.key(name)
      json.string("\(start)\(fullName).git")
    }
    json.key("svn_url")
    json.string("https://github.com/\(fullName)")
    json.key("mirror_url")
    json.null()
    json.key("homepage")
    json.string("")
    json.key("size")
    json.int(repository.commits * 3)
    for name in ["stargazers_count", "watchers_count", "watchers"] {
      json.key(name)
      json.int(repository.stars)
    }
    json.key("language")
    json.optional(repository.language)
    for name in ["forks_count", "forks", "open_issues_count", "open_issues"] {
      json.key(name)
      json.int(repository.stars / 7)
    }
    for name in ["has_issues", "has_projects", "has_downloads", "has_wiki", "allow_forking"] {
      json.key(name)
      json.bool(true)
    }
    for name in [
      "has_pages", "has_discussions", "archived", "disabled", "is_template", "web_commit_signoff_required",
    ] {
      json.key(name)
      json.bool(false)
    }
    json.key("license")
    json.null()
    json.key("topics")
    json.raw("[]")
    json.key("visibility")
    json.string("public")
    json.key("default_branch")
    json.string("main")
    // Nobody has heard of this member yet; it must come through all the same.
    json.key("x_feathers")
    json.raw(#"{"count": 1e2, "shine":null}"#)
    if isFull {
      json.key("temp_clone_token")
      json.string("do-not-store-\(repository.id)")
      json.key("network_count")
      json.int(repository.stars / 7)
      json.key("subscribers_count")
      json.int(repository.stars / 30)
    }
    json.endObject()
  }

  func appendUser(_ card: Card, to json: inout JSONWriter) {
    var user: [UInt8] = []
    users.append(card, to: &user)
    json.raw(user)
  }

  // MARK: Gists and organizations

  /// Of an owner's gists those with a number that five divides have lost their owner.
  func appendGist(_ number: Int, owner: Card, to json: inout JSONWriter) {
    let id = RepositoryRenderer.gistID(number, owner: owner.id, seed: seed)
    json.beginObject()
    json.key("id")
    json.string(id)
    json.key("url")
    json.string("\(base)/gists/\(id)")
    json.key("forks_url")
    json.string("\(base)/gists/\(id)/forks")
    json.key("html_url")
    json.string("https://gist.github.com/\(id)")
    json.key("files")
    json.raw(
      Array(
        #"{"note \#(number).md":{"filename":"note \#(number).md","type":"text/markdown","language":null,"size":\#(number)}}"#
          .utf8))
    json.key("public")
    json.bool(true)
    json.key("created_at")
    json.string(Timestamp(seconds: 1_400_000_000 + Int64(number) * 3_600).description)
    json.key("updated_at")
    json.string(Timestamp(seconds: 1_500_000_000 + Int64(number) * 3_600).description)
    json.key("description")
    json.optional(number % 2 == 0 ? "" : nil)
    json.key("comments")
    json.int(0)
    json.key("user")
    json.null()
    if number % 5 != 0 {
      json.key("owner")
      appendUser(owner, to: &json)
    }
    json.endObject()
  }

  /// 32 hexadecimal digits; every third one has the 20 of older gists.
  static func gistID(_ number: Int, owner: Int64, seed: Seed) -> String {
    let place = UInt64(bitPattern: owner) &* 65_537 &+ UInt64(number)
    let digits = (0..<2 as Range<UInt64>).map { half in
      let text = String(seed.number(.repositories, place &* 2 &+ half), radix: 16)
      return String(repeating: "0", count: 16 - text.utf8.count) + text
    }.joined()
    return String(digits.prefix(number % 3 == 0 ? 20 : 32))
  }

  func appendOrganization(_ card: Card, to json: inout JSONWriter) {
    let url = "\(base)/orgs/\(card.login)"
    json.beginObject()
    json.key("login")
    json.string(card.login)
    json.key("id")
    json.int(card.id)
    json.key("node_id")
    json.string("O_\(card.id)")
    json.key("url")
    json.string(url)
    for part in ["repos", "events", "hooks", "issues"] {
      json.key("\(part)_url")
      json.string("\(url)/\(part)")
    }
    json.key("members_url")
    json.string("\(url)/members{/member}")
    json.key("avatar_url")
    json.string("https://avatars.githubusercontent.com/u/\(card.id)?v=4")
    json.key("description")
    json.optional(card.id % 2 == 0 ? "" : nil)
    json.endObject()
  }
}
