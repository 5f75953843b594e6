/// Turns an upstream's API addresses within stored documents into this server's own.
///
/// Only members named `url` or ending in `_url` are touched, but for `avatar_url`, which leads to a picture and not into
/// the API; and of those only values that are a base or begin with a base and a slash. Everything else, a biography that
/// mentions the address included, stays byte for byte. Slashes may be written `\/`.
public struct URLRewriter: Sendable {
  /// Without closing slashes, the longest first, so that of two that fit the closer one is taken.
  private let bases: [[UInt8]]
  private let replacement: String
  /// The replacement as the inside of a JSON string.
  private let escaped: [UInt8]

  /// A rewriter of addresses below any of some bases (`https://api.github.com`) to the same below another one
  /// (`https://magpie.example/github`). Closing slashes do not matter.
  public init(bases: [String], replacement: String) {
    func trimmed(_ base: String) -> String {
      var base = base[...]
      while base.hasSuffix("/") { base.removeLast() }
      return String(base)
    }
    self.bases = Set(bases.map { Array(trimmed($0).utf8) }).filter { !$0.isEmpty }.sorted { $0.count > $1.count }
    self.replacement = trimmed(replacement)
    var writer = JSONWriter()
    writer.string(self.replacement)
    escaped = Array(writer.bytes.dropFirst().dropLast())
  }

  /// Splices a checked document in as a value, its addresses rewritten.
  public func append(_ document: UnsafeRawBufferPointer, to writer: inout JSONWriter) {
    writer.startItem()
    appendRewritten(document, to: &writer)
    writer.commaIsDue = true
  }

  /// Splices a checked object in as a value, its addresses rewritten, and adds members at its end as
  /// ``JSONWriter/rawObject(_:adding:)`` does. What is added is not rewritten.
  public func appendObject(
    _ document: UnsafeRawBufferPointer, to writer: inout JSONWriter, adding: (inout JSONWriter) -> Void
  ) {
    writer.startItem()
    let start = writer.storage.count
    appendRewritten(document, to: &writer)
    writer.addMembers(toValueAt: start, adding)
  }

  /// A plain address rewritten, or the same when it is not below a base. For `Location` and `Link`.
  public func rewrite(_ url: String) -> String {
    var url = url
    let length = url.withUTF8 { utf8 in baseLength(in: UnsafeRawBufferPointer(utf8), at: 0) { $0 == utf8.count } }
    guard let length else { return url }
    return replacement + String(decoding: url.utf8.dropFirst(length), as: UTF8.self)
  }

  private func appendRewritten(_ document: UnsafeRawBufferPointer, to writer: inout JSONWriter) {
    var copied = 0
    var position = 0
    while let value = Self.nextAddress(in: document, from: &position) {
      let length = baseLength(in: document, at: value) { $0 < document.count && document[$0] == .quote }
      guard let length else { continue }
      writer.append(document, copied..<value)
      writer.storage.append(contentsOf: escaped)
      copied = value + length
      position = copied
    }
    writer.append(document, copied..<document.count)
  }

  /// Where the content of the next string begins that is the value of a member named `url` or `…_url`.
  ///
  /// The bytes `url"` occur in well-formed JSON only where a string ends, since an escaped quote has a backslash
  /// before it; and a string with a colon after it is a member's name.
  private static func nextAddress(in document: UnsafeRawBufferPointer, from position: inout Int) -> Int? {
    while let start = nextNameEnd(in: document, from: position) {
      position = start + 4
      guard start > 0, endsName(document, before: start), !isPicture(document, before: start) else { continue }
      var next = skippingSpace(document, position)
      guard next < document.count, document[next] == .colon else { continue }
      next = skippingSpace(document, next + 1)
      guard next < document.count, document[next] == .quote else { continue }
      position = next + 1
      return position
    }
    return nil
  }

  /// The offset of the next `url"`. Looking at the last of four bytes first, most of the text is passed in fours.
  private static func nextNameEnd(in document: UnsafeRawBufferPointer, from position: Int) -> Int? {
    guard let base = document.baseAddress else { return nil }
    var last = position + 3
    while last < document.count {
      switch base.load(fromByteOffset: last, as: UInt8.self) {
      case .quote:
        let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: last - 3, as: UInt32.self))
        // The bytes u, r, l and a quote.
        if word == 0x226C_7275 { return last - 3 }
        last += 4
      case UInt8(ascii: "l"): last += 1
      case UInt8(ascii: "r"): last += 2
      case UInt8(ascii: "u"): last += 3
      default: last += 4
      }
    }
    return nil
  }

  /// Whether `url` begins at an offset as the whole name, or after an underscore.
  private static func endsName(_ document: UnsafeRawBufferPointer, before start: Int) -> Bool {
    switch document[start - 1] {
    case UInt8(ascii: "_"): true
    case .quote: start < 2 || document[start - 2] != .backslash
    default: false
    }
  }

  /// Whether the name that ends at an offset with `url` is `avatar_url`. Few others have an `r` there.
  private static func isPicture(_ document: UnsafeRawBufferPointer, before start: Int) -> Bool {
    start >= 8 && document[start - 2] == UInt8(ascii: "r") && document[start - 8] == .quote
      && document[(start - 7)..<start].elementsEqual("avatar_".utf8)
  }

  private static func skippingSpace(_ document: UnsafeRawBufferPointer, _ position: Int) -> Int {
    var position = position
    while position < document.count, document[position].isJSONSpace { position += 1 }
    return position
  }

  /// The length, as written, of the base that the text at an offset begins with, if a slash or the end comes next.
  private func baseLength(
    in text: UnsafeRawBufferPointer, at start: Int, isEnd: (Int) -> Bool
  ) -> Int? {
    for base in bases {
      guard let end = Self.end(of: base, in: text, at: start) else { continue }
      if isEnd(end) || Self.isSlash(text, end) { return end - start }
    }
    return nil
  }

  private static func isSlash(_ text: UnsafeRawBufferPointer, _ position: Int) -> Bool {
    guard position < text.count else { return false }
    if text[position] == .slash { return true }
    return text[position] == .backslash && position + 1 < text.count && text[position + 1] == .slash
  }

  private static func end(of base: [UInt8], in text: UnsafeRawBufferPointer, at start: Int) -> Int? {
    var position = start
    for byte in base {
      if byte == .slash, position < text.count, text[position] == .backslash { position += 1 }
      guard position < text.count, text[position] == byte else { return nil }
      position += 1
    }
    return position
  }
}
