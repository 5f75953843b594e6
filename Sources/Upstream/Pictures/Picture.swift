import HTTP

/// A picture that may be shown to others: its bytes say what it is, and it is no larger than it looks.
public struct Picture: Sendable {
  /// The kinds taken. SVG is not among them: it can hold scripts.
  public enum Kind: String, Sendable, CaseIterable {
    case png = "image/png"
    case jpeg = "image/jpeg"
    case gif = "image/gif"
    case webp = "image/webp"
  }

  /// The longest picture, in bytes: 2 MiB.
  public static let maxBytes = 2 << 20
  /// The longest side, in pixels.
  public static let maxSide = 4_096
  /// The most pixels. A few bytes can claim thousands of millions, and whoever unpacks them runs out of memory.
  public static let maxPixels = 16_777_216

  /// What the bytes are.
  public let kind: Kind
  /// In pixels, by the header.
  public let width: Int
  /// In pixels, by the header.
  public let height: Int
  /// As they came.
  public let bytes: [UInt8]

  /// Looks at the bytes alone. Nothing is unpacked.
  ///
  /// - Parameter type: what the server claims, which must be the truth.
  /// - Throws: `Malformed`.
  public init(_ bytes: [UInt8], claimedType type: String?) throws(Malformed) {
    guard bytes.count <= Picture.maxBytes else { throw Malformed("more than \(Picture.maxBytes) bytes") }
    guard let (kind, size) = PictureHeader.read(bytes) else { throw Malformed("not a picture of a kind that is taken") }
    let claimed = type.map { $0.prefix { $0 != ";" }.filter { $0 != " " }.lowercased() }
    guard claimed == kind.rawValue || (claimed == "image/jpg" && kind == .jpeg) else {
      throw Malformed("the type is not what the bytes say")
    }
    guard let size, size.width > 0, size.height > 0 else { throw Malformed("a picture without a size") }
    guard size.width <= Picture.maxSide, size.height <= Picture.maxSide,
      size.width * size.height <= Picture.maxPixels
    else { throw Malformed("more pixels than are taken") }
    self.kind = kind
    width = size.width
    height = size.height
    self.bytes = bytes
  }
}

/// Reads kind and size from a picture's first bytes.
enum PictureHeader {
  typealias Size = (width: Int, height: Int)

  /// `nil` for what is none of the kinds; the size is `nil` when the header is broken.
  static func read(_ bytes: [UInt8]) -> (kind: Picture.Kind, size: Size?)? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return (.png, png(bytes)) }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return (.jpeg, jpeg(bytes)) }
    if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) {
      return (.gif, gif(bytes))
    }
    if bytes.count >= 12, bytes.starts(with: Array("RIFF".utf8)), bytes[8..<12].elementsEqual("WEBP".utf8) {
      return (.webp, webp(bytes))
    }
    return nil
  }

  /// The first chunk must be a whole IHDR of 13 bytes (PNG, third edition, 11.2.1).
  private static func png(_ bytes: [UInt8]) -> Size? {
    guard bytes.count >= 33, big(bytes, 8, 4) == 13, bytes[12..<16].elementsEqual("IHDR".utf8) else { return nil }
    return (big(bytes, 16, 4), big(bytes, 20, 4))
  }

  /// Walks the segments to the frame header (ITU-T T.81, B.2.2): SOF0 to SOF15 but for DHT, JPG and DAC.
  private static func jpeg(_ bytes: [UInt8]) -> Size? {
    var position = 2
    while position + 4 <= bytes.count {
      guard bytes[position] == 0xFF else { return nil }
      let marker = bytes[position + 1]
      if marker == 0xFF {
        position += 1
        continue
      }
      let length = big(bytes, position + 2, 2)
      guard length >= 2 else { return nil }
      if 0xC0...0xCF ~= marker, marker != 0xC4, marker != 0xC8, marker != 0xCC {
        guard position + 9 <= bytes.count else { return nil }
        return (big(bytes, position + 7, 2), big(bytes, position + 5, 2))
      }
      // The scan begins, or the picture ends, before any frame.
      if marker == 0xDA || marker == 0xD9 { return nil }
      position += 2 + length
    }
    return nil
  }

  /// The logical screen; frames may not be larger than the first one's place on it.
  private static func gif(_ bytes: [UInt8]) -> Size? {
    guard bytes.count >= 14 else { return nil }
    let screen = (little(bytes, 6, 2), little(bytes, 8, 2))
    var position = 13
    if bytes[10] & 0x80 != 0 { position += 3 << (Int(bytes[10] & 7) + 1) }
    // Extensions before the first frame are passed over.
    while position + 1 < bytes.count, bytes[position] == 0x21 {
      position += 2
      while position < bytes.count, bytes[position] != 0 { position += Int(bytes[position]) + 1 }
      position += 1
    }
    guard position + 9 <= bytes.count, bytes[position] == 0x2C else { return nil }
    let frame = (little(bytes, position + 5, 2), little(bytes, position + 7, 2))
    return (max(screen.0, frame.0), max(screen.1, frame.1))
  }

  /// The three forms of the first chunk (RFC 9649, section 2; RFC 6386, 9.1).
  private static func webp(_ bytes: [UInt8]) -> Size? {
    guard bytes.count >= 30 else { return nil }
    switch String(decoding: bytes[12..<16], as: UTF8.self) {
    case "VP8 ":
      guard bytes[23...25].elementsEqual([0x9D, 0x01, 0x2A]) else { return nil }
      return (little(bytes, 26, 2) & 0x3FFF, little(bytes, 28, 2) & 0x3FFF)
    case "VP8L":
      guard bytes[20] == 0x2F else { return nil }
      let bits = little(bytes, 21, 4)
      return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    case "VP8X":
      return (little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1)
    default:
      return nil
    }
  }

  private static func big(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int {
    bytes[start..<(start + count)].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func little(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int {
    bytes[start..<(start + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
