/// A place in a document (RFC 6901), as text for people and clients.
enum JSONPointer {
  /// The longest pointer given out, in bytes. Names come from whoever wrote the document, and an answer that quotes
  /// them must not grow with them.
  static let maxBytes = 256

  /// One more step down, by a member's name; the container itself when the pointer would become too long.
  static func appending(_ name: String, to pointer: String) -> String {
    guard pointer.utf8.count + name.utf8.count < maxBytes else { return pointer }
    return pointer + "/" + token(name)
  }

  /// One more step down, by an item's index.
  static func appending(_ index: Int, to pointer: String) -> String { "\(pointer)/\(index)" }

  /// A name with `~` and `/` escaped (RFC 6901, section 3).
  private static func token(_ name: String) -> String {
    var token = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "~": token += "~0"
      case "/": token += "~1"
      default: token.unicodeScalars.append(scalar)
      }
    }
    return token
  }
}
