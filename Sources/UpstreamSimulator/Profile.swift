import HTTP

/// What a profile says beyond a card.
struct Profile: Sendable, Equatable {
  var name: String?
  var company: String?
  /// Empty when unset, as GitHub has it.
  var blog: String
  var location: String?
  /// Shown to authorized callers only.
  var email: String?
  var hireable: Bool?
  var bio: String?
  var twitter: String?
  var publicRepos: Int
  var publicGists: Int
  /// Seconds since 1970.
  var createdAt: Int64
  /// Seconds since 1970; also the `Last-Modified` of the profile.
  var updatedAt: Int64
}

extension Profile {
  /// The profile somebody was born with.
  init(_ card: Card, seed: Seed) {
    let dice = seed.number(.text, UInt64(bitPattern: card.id))
    func pick<T>(_ shift: UInt64, _ choices: [T]) -> T { choices[Int(dice >> shift & 0xFF) % choices.count] }
    name = pick(0, Profile.names) ?? (dice & 1 == 0 ? nil : card.login)
    company = pick(8, [nil, nil, nil, "@github", "  Octo & Sons ", "Widget Works"])
    blog = pick(16, ["", "", "", "example.com/me", "https://example.org/~me?x=1&y=2"])
    location = pick(24, [nil, nil, "Oslo", "São Paulo", "東京", "Earth, \"mostly\""])
    email = pick(32, [nil, nil, nil, "\(card.id)@example.com"])
    hireable = pick(40, [nil, nil, nil, true, false])
    bio = pick(48, Profile.bios)
    twitter = pick(56, [nil, nil, nil, "example_\(card.id)"])
    publicRepos = Int(dice >> 12 & 0x7F)
    publicGists = Int(dice >> 20 & 0xF)
    let dates = seed.number(.dates, UInt64(bitPattern: card.id))
    createdAt = 1_200_000_000 + Int64(dates % 400_000_000)
    updatedAt = createdAt + Int64(dates >> 32 % 100_000_000)
  }

  /// `nil` stands for "the login or nothing".
  private static let names: [String?] = [
    nil, "Ada Bergman", "José Núñez", "🦜 Mira 🦜", "王小明", "Ω≈ç√", "Zoe\u{0301} Dahl", "שרה כהן", "Robert \"); DROP", "👩‍👩‍👧‍👦",
    "Bo",
  ]
  private static let bios: [String?] = [
    nil, nil, nil, "", "Builds things.", "Line one\r\nline two", "Coffee ☕️ → code \\o/", "<b>bold</b> & \"quoted\"",
    String(repeating: "ab ", count: 53),
  ]
}
