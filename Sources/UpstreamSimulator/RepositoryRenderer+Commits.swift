import HTTP
import JSONText

extension RepositoryRenderer {
  /// One commit of a repository, by its number from the first one, 0.
  ///
  /// Numbers make the oddities of real histories: of 7 commits one has no account, of 11 one an empty object for it, of 13 one
  /// no name in Git's signature, and of 17 one a date of 1970 or 2050.
  func appendCommit(_ number: Int, of repository: Repository, owner: Card, to json: inout JSONWriter) {
    let sha = RepositoryRenderer.sha(number, repository.id, seed)
    let url = "\(base)/repos/\(UserRenderer.escaped(owner.login))/\(repository.name)"
    json.beginObject()
    json.key("sha")
    json.string(sha)
    json.key("node_id")
    json.string("C_\(sha.prefix(12))")
    json.key("commit")
    json.beginObject()
    for part in ["author", "committer"] {
      json.key(part)
      json.beginObject()
      if number % 13 != 12 {
        json.key("name")
        json.string("Git \(owner.login) ☕️")
      }
      json.key("email")
      json.string("git@example.com")
      json.key("date")
      json.string(Timestamp(seconds: RepositoryRenderer.date(number, repository)).description)
      json.endObject()
    }
    json.key("message")
    json.string("Change number \(number)\n\nWhy it was \"needed\".")
    json.key("tree")
    json.raw(Array(#"{"sha":"\#(sha)","url":"\#(url)/git/trees/\#(sha)"}"#.utf8))
    json.key("url")
    json.string("\(url)/git/commits/\(sha)")
    json.key("comment_count")
    json.int(0)
    json.key("verification")
    json.raw(#"{"verified":false,"reason":"unsigned","signature":null,"payload":null,"verified_at":null}"#)
    json.endObject()
    json.key("url")
    json.string("\(url)/commits/\(sha)")
    json.key("html_url")
    json.string("https://github.com/\(owner.login)/\(repository.name)/commit/\(sha)")
    json.key("comments_url")
    json.string("\(url)/commits/\(sha)/comments")
    for part in ["author", "committer"] {
      json.key(part)
      if number % 7 == 6 {
        json.null()
      } else if number % 11 == 10 {
        json.raw("{}")
      } else {
        appendUser(owner, to: &json)
      }
    }
    json.key("parents")
    if number == 0 {
      json.raw("[]")
    } else {
      let parent = RepositoryRenderer.sha(number - 1, repository.id, seed)
      json.raw(Array(#"[{"sha":"\#(parent)","url":"\#(url)/commits/\#(parent)"}]"#.utf8))
    }
    json.endObject()
  }

  /// Seconds since 1970.
  static func date(_ number: Int, _ repository: Repository) -> Int64 {
    if number % 17 == 16 { return number % 2 == 0 ? 0 : 2_524_608_000 }
    return repository.createdAt + Int64(number) * 60
  }

  /// 40 hexadecimal digits.
  static func sha(_ number: Int, _ repository: Int64, _ seed: Seed) -> String {
    let place = UInt64(bitPattern: repository) &* 1_000_003 &+ UInt64(number)
    let digits = (0..<3 as Range<UInt64>).map { part in
      let text = String(seed.number(.repositories, place &* 3 &+ part), radix: 16)
      return String(repeating: "0", count: 16 - text.utf8.count) + text
    }.joined()
    return String(digits.prefix(40))
  }
}
