/// A web link, as in `Link: <https://host/x?page=2>; rel="next"` (RFC 8288).
public struct Link: Sendable, Equatable, CustomStringConvertible {
  /// The URI reference between the angle brackets.
  public var target: String
  /// Relation types, lowered: `next`, `prev`, `first`, `last`, …
  public var relations: [String]

  /// A link with one relation type.
  public init(_ target: String, rel: String) {
    self.target = target
    relations = [rel]
  }

  /// Reads a joined field value. Links that cannot be read are left out; the first `rel` of a link counts.
  public static func parse(_ text: String) -> [Link] {
    ListSyntax.split(text, at: UInt8(ascii: ",")).compactMap { member in
      guard member.utf8.first == UInt8(ascii: "<"), let end = member.utf8.firstIndex(of: UInt8(ascii: ">")) else {
        return nil
      }
      let target = String(member[member.utf8.index(after: member.startIndex)..<end])
      let parameters = ListSyntax.split(member[member.utf8.index(after: end)...], at: UInt8(ascii: ";"))
      let rel = parameters.lazy.map(ListSyntax.parameter).first { $0.name == "rel" }?.value ?? ""
      var link = Link(target, rel: "")
      link.relations = rel.utf8.split(separator: 0x20).map { ASCII.lowercased(Substring($0)) }
      return link
    }
  }

  /// The first link of a relation type in a joined field value.
  public static func first(_ rel: String, in text: String) -> Link? {
    parse(text).first { $0.relations.contains(rel) }
  }

  /// One member of a `Link` field. Bytes that cannot stand in a URI reference are escaped.
  public var description: String {
    var bytes = [UInt8(ascii: "<")]
    for byte in target.utf8 {
      switch byte {
      case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: bytes.append(byte)
      default: PercentEncoding.appendEscape(byte, to: &bytes)
      }
    }
    let relations = relations.map { String($0.filter { $0 != "\"" && $0 != "\\" }) }.joined(separator: " ")
    return String(decoding: bytes, as: UTF8.self) + ">; rel=\"\(relations)\""
  }
}

extension Sequence<Link> {
  /// The value of a `Link` field.
  public var fieldValue: String { map(\.description).joined(separator: ", ") }
}
