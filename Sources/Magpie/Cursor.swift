import JSONText

/// An opaque place in a list: some texts and a signature, so that a client can neither forge one nor use one list's cursor
/// on another list.
public struct CursorCodec: Sendable {
  private let key: [UInt8]
  /// Characters a cursor has at most: enough for a title of 500 characters however they are escaped, and within what a
  /// request line takes.
  public static let maxLength = 6_000
  private static let signatureLength = 12

  /// The key must be the same for all processes; see `magpie.secret`.
  public init(key: [UInt8]) { self.key = key }

  /// - Parameters:
  ///   - fields: what is needed to go on, in order.
  ///   - scope: names the list with all its filters and whose it is; must be the same when the cursor comes back.
  public func encode(_ fields: [String], scope: String) -> String {
    var writer = JSONWriter()
    writer.beginArray()
    for field in fields { writer.string(field) }
    writer.endArray()
    return Base64URL.encode(signature(writer.bytes, scope) + writer.bytes)
  }

  /// `nil` when the text is not a cursor of this list.
  public func decode(_ text: String, scope: String) -> [String]? {
    guard text.utf8.count <= CursorCodec.maxLength, let bytes = Base64URL.decode(text),
      bytes.count > CursorCodec.signatureLength
    else { return nil }
    let payload = Array(bytes.dropFirst(CursorCodec.signatureLength))
    guard Digest.equal(Array(bytes.prefix(CursorCodec.signatureLength)), signature(payload, scope)),
      let view = try? JSONView(payload)
    else { return nil }
    let fields = view.elements.map(\.string)
    let texts = fields.compactMap { $0 }
    return texts.count == fields.count ? texts : nil
  }

  private func signature(_ payload: [UInt8], _ scope: String) -> [UInt8] {
    Array(Digest.hmacSHA256(key: key, Array(scope.utf8) + [0] + payload).prefix(CursorCodec.signatureLength))
  }
}

/// Base64 for URLs, without padding (RFC 4648 section 5).
enum Base64URL {
  static func encode(_ bytes: [UInt8]) -> String {
    String(
      decoding: Base64.encode(bytes).utf8.map { byte in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
      }, as: UTF8.self)
  }

  static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
      case UInt8(ascii: "+"), UInt8(ascii: "/"): return nil
      default: bytes.append(byte)
      }
    }
    return Base64.decode(String(decoding: bytes, as: UTF8.self))
  }
}
