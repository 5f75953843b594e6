import HTTP
import JSONText

/// Writes people in GitHub's shapes, with API links to the simulator itself.
struct UserRenderer: Sendable {
  private enum Place: String, CaseIterable {
    case login
    case id
    case node
    case avatar
    case escaped
    case page
    case kind
  }

  private let template: ByteTemplate<Place>

  /// - Parameters:
  ///   - base: the simulator's own address, such as `http://127.0.0.1:9090`.
  ///   - avatars: where the pictures are; `nil`: where GitHub's are.
  init(base: String, avatars: String? = nil) {
    let user = "\(base)/users/«escaped»"
    let avatars = avatars ?? "https://avatars.githubusercontent.com"
    template = ByteTemplate(
      """
      {"login":"«login»","id":«id»,"node_id":"«node»",\
      "avatar_url":"\(avatars)/«avatar»?v=4","gravatar_id":"","url":"\(user)",\
      "html_url":"https://github.com/«page»","followers_url":"\(user)/followers",\
      "following_url":"\(user)/following{/other_user}","gists_url":"\(user)/gists{/gist_id}",\
      "starred_url":"\(user)/starred{/owner}{/repo}","subscriptions_url":"\(user)/subscriptions",\
      "organizations_url":"\(user)/orgs","repos_url":"\(user)/repos","events_url":"\(user)/events{/privacy}",\
      "received_events_url":"\(user)/received_events","type":"«kind»","user_view_type":"public","site_admin":false}
      """)
  }

  /// A list item (`SimpleUser`). Logins hold no character that JSON would have escaped.
  func append(_ card: Card, to bytes: inout [UInt8]) {
    let login = Array(card.login.utf8)
    let isBot = card.kind == .bot
    template.append(to: &bytes) { place, bytes in
      switch place {
      case .login: bytes.append(contentsOf: login)
      case .id: bytes.append(contentsOf: String(card.id).utf8)
      case .node: bytes.append(contentsOf: UserRenderer.nodeID(card))
      case .avatar: bytes.append(contentsOf: "\(isBot ? "in" : "u")/\(card.id)".utf8)
      case .escaped:
        if isBot {
          bytes.append(contentsOf: UserRenderer.escaped(card.login).utf8)
        } else {
          bytes.append(contentsOf: login)
        }
      case .page:
        bytes.append(contentsOf: isBot ? "apps/\(card.login.replacing("[bot]", with: ""))".utf8 : card.login.utf8)
      case .kind: bytes.append(contentsOf: card.kind.rawValue.utf8)
      }
    }
  }

  /// A page of a list.
  func list(_ cards: some Sequence<Card>) -> [UInt8] {
    var bytes: [UInt8] = [UInt8(ascii: "[")]
    bytes.reserveCapacity(100 * 1100)
    var separator = false
    for card in cards {
      if separator { bytes.append(UInt8(ascii: ",")) }
      separator = true
      append(card, to: &bytes)
    }
    bytes.append(UInt8(ascii: "]"))
    return bytes
  }

  /// A profile (`PublicUser`). The e-mail address is for authorized callers only.
  func profile(_ card: Card, _ profile: Profile, followers: Int, following: Int, showsEmail: Bool) -> [UInt8] {
    var simple: [UInt8] = []
    append(card, to: &simple)
    var json = JSONWriter(capacity: 2048)
    simple.withUnsafeBytes { bytes in
      json.rawObject(bytes) { json in
        json.key("name")
        json.optional(profile.name)
        json.key("company")
        json.optional(profile.company)
        json.key("blog")
        json.string(profile.blog)
        json.key("location")
        json.optional(profile.location)
        json.key("email")
        json.optional(showsEmail ? profile.email : nil)
        json.key("hireable")
        if let hireable = profile.hireable { json.bool(hireable) } else { json.null() }
        json.key("bio")
        json.optional(profile.bio)
        json.key("twitter_username")
        json.optional(profile.twitter)
        json.key("public_repos")
        json.int(profile.publicRepos)
        json.key("public_gists")
        json.int(profile.publicGists)
        json.key("followers")
        json.int(followers)
        json.key("following")
        json.int(following)
        json.key("created_at")
        json.string(Timestamp(seconds: profile.createdAt).description)
        json.key("updated_at")
        json.string(Timestamp(seconds: profile.updatedAt).description)
      }
    }
    return json.bytes
  }

  /// Path segments of bots are escaped, as GitHub escapes them.
  static func escaped(_ login: String) -> String {
    login.replacing("[", with: "%5B").replacing("]", with: "%5D")
  }

  /// The older of GitHub's two formats: kind and id in base 64.
  private static func nodeID(_ card: Card) -> [UInt8] {
    let kind = card.kind.rawValue
    return base64("0\(kind.utf8.count):\(kind)\(card.id)".utf8)
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func base64(_ text: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for byte in text {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        result.append(alphabet[Int(bits >> UInt32(count) & 0x3F)])
      }
    }
    if count > 0 { result.append(alphabet[Int(bits << UInt32(6 - count) & 0x3F)]) }
    while result.count % 4 != 0 { result.append(UInt8(ascii: "=")) }
    return result
  }
}

extension JSONWriter {
  mutating func optional(_ text: String?) {
    if let text { string(text) } else { null() }
  }
}
