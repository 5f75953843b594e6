/// The comma-separated lists and parameters that most field values are made of (RFC 9110, 5.6).
enum ListSyntax {
  /// The parts between separators that stand outside quoted strings and outside `<…>`, trimmed, empty ones left out.
  static func split(_ text: some StringProtocol, at separator: UInt8) -> [Substring] {
    let text = Substring(text)
    var parts: [Substring] = []
    var start = text.startIndex
    var quoted = false
    var escaped = false
    var bracketed = false
    func end(_ index: Substring.Index) {
      let part = ASCII.trimmed(text[start..<index])
      if !part.isEmpty { parts.append(part) }
    }
    for index in text.utf8.indices {
      let byte = text.utf8[index]
      if quoted {
        if escaped {
          escaped = false
        } else if byte == UInt8(ascii: "\\") {
          escaped = true
        } else if byte == UInt8(ascii: "\"") {
          quoted = false
        }
      } else if bracketed {
        bracketed = byte != UInt8(ascii: ">")
      } else if byte == UInt8(ascii: "\"") {
        quoted = true
      } else if byte == UInt8(ascii: "<") {
        bracketed = true
      } else if byte == separator {
        end(index)
        start = text.utf8.index(after: index)
      }
    }
    end(text.endIndex)
    return parts
  }

  /// `name` or `name=value`, the name lowered, the value without its quotes.
  static func parameter(_ text: Substring) -> (name: String, value: String?) {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return (ASCII.lowercased(ASCII.trimmed(text)), nil)
    }
    let name = ASCII.lowercased(ASCII.trimmed(text[..<equals]))
    return (name, unquoted(ASCII.trimmed(text[text.utf8.index(after: equals)...])))
  }

  private static func unquoted(_ text: Substring) -> String {
    guard text.utf8.count >= 2, text.utf8.first == UInt8(ascii: "\""), text.utf8.last == UInt8(ascii: "\"") else {
      return String(text)
    }
    var bytes: [UInt8] = []
    var escaped = false
    for byte in text.utf8.dropFirst().dropLast() {
      if !escaped, byte == UInt8(ascii: "\\") {
        escaped = true
        continue
      }
      escaped = false
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
