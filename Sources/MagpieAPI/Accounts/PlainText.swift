import JSONText
import Magpie

/// Short texts that are shown to people beside others, such as names. As `magpie.is_plain_text` in SQL.
enum PlainText {
  /// Refuses what is empty or too long, and what could hide or turn round the text beside it.
  static func check(_ text: String, _ name: String, maxLength: Int, in body: inout JSONObjectReader) {
    if text.unicodeScalars.count > maxLength || text.isEmpty {
      body.refuse(name, "must have 1 to \(maxLength) characters")
    } else if !text.unicodeScalars.allSatisfy(isPlain) {
      body.refuse(name, "must not have control characters, or ones that change the direction of text")
    }
  }

  /// Neither a control character, nor a line separator, nor an embedding, override or isolate of Unicode's bidirectional
  /// algorithm (UAX 9, 2). The marks that right-to-left names need are none of these.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // U+0000 is refused by whoever reads the body.
    case 1...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}

extension PasswordPolicy.Refusal {
  /// The rest of a sentence about the password.
  var detail: String {
    switch self {
    case .tooShort: "must have at least \(PasswordPolicy.length.lowerBound) bytes"
    case .tooLong: "must not have more than \(PasswordPolicy.length.upperBound) bytes"
    case .common: "is one that attackers try first"
    }
  }
}
