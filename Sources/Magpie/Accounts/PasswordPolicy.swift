/// Which passwords are taken: 8 to 1,024 bytes, as they are, but none that attackers try first.
public enum PasswordPolicy {
  /// Bytes a password has at least and at most.
  public static let length = 8...1024

  /// Why a password is refused.
  public enum Refusal: Equatable, Sendable {
    case tooShort, tooLong, common
  }

  /// `nil` when the password is good.
  public static func refusal(of password: String, username: String?) -> Refusal? {
    let bytes = Array(password.utf8)
    if bytes.count < length.lowerBound { return .tooShort }
    if bytes.count > length.upperBound { return .tooLong }
    return isCommon(password, username: username) ? .common : nil
  }

  /// Compared without case, and without the digits and signs that are put around a word to please other rules.
  private static func isCommon(_ password: String, username: String?) -> Bool {
    let folded = password.lowercased()
    let core = String(folded.drop { !$0.isLetter }.reversed().drop { !$0.isLetter }.reversed())
    if let username, !username.isEmpty, folded.contains(username.lowercased()), folded.count - username.count < 6 {
      return true
    }
    if folded.contains("magpie"), folded.count < 12 { return true }
    return Set(folded).count <= 2 || isRun(folded) || commonWords.contains(core) || commonWords.contains(folded)
  }

  /// `12345678`, `hgfedcba`, and keyboard rows.
  private static func isRun(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let steps = Set(zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) })
    if steps == [1] || steps == [-1] { return true }
    let rows = [
      "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc4rfv5tgb",
      "qazwsxedcrfvtgb",
    ]
    return rows.contains { $0.contains(text) || String($0.reversed()).contains(text) }
  }

  private static let commonWords: Set<String> = [
    "password", "passwort", "motdepasse", "contrasena", "passw0rd", "p@ssword", "p@ssw0rd", "pa$$word", "letmein",
    "welcome", "iloveyou",
    "sunshine", "princess", "football", "baseball", "basketball", "superman", "batman", "starwars", "trustno", "dragon",
    "monkey", "shadow",
    "master", "michael", "jennifer", "jordan", "hunter", "charlie", "freedom", "whatever", "computer", "internet",
    "samsung", "corvette",
    "mercedes", "liverpool", "chelsea", "arsenal", "barcelona", "juventus", "pokemon", "naruto", "minecraft",
    "fortnite", "changeme",
    "secret", "administrator", "admin", "default", "testtest", "testing", "qwertyuiop", "qwerty", "asdfghjkl",
    "asdfasdf", "zxcvbnm",
    "abcabc", "abcdef", "access", "ashley", "bailey", "passpass", "godzilla", "ginger", "hello", "hellohello", "killer",
    "lovely", "loveme",
    "mustang", "ninja", "pepper", "summer", "winter", "spring", "autumn", "silver", "soccer", "thunder", "victoria",
    "william", "yankees",
    "zaq12wsx", "google", "facebook", "github", "iphone", "android", "blink", "chocolate", "butterfly", "elephant",
    "babygirl", "lovelove",
    "jessica", "daniel", "anthony", "andrew", "joshua", "matthew", "nicole", "amanda", "melissa", "samantha",
    "alexander", "christian",
    "correcthorsebatterystaple", "q1w2e3r4t5y6", "a1b2c3d4", "abc12345", "aa123456", "login", "guest", "supervisor",
    "manager", "service",
  ]
}
