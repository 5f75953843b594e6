import HTTP
import Testing

@testable import Upstream

/// What may be shown as somebody's picture, judged by its bytes.
@Suite struct PictureTests {
  static func png(_ width: UInt32, _ height: UInt32) -> [UInt8] {
    func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width) + big(height)
      + [8, 2, 0, 0, 0, 0, 0, 0, 0]
  }

  static func gif(_ width: UInt16, _ height: UInt16, frame: (UInt16, UInt16)? = nil) -> [UInt8] {
    func little(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }
    let frame = frame ?? (width, height)
    return Array("GIF89a".utf8) + little(width) + little(height) + [0x80, 0, 0, 1, 2, 3, 4, 5, 6]
      + [0x21, 0xF9, 4, 0, 0, 0, 0, 0]
      + [0x2C, 0, 0, 0, 0] + little(frame.0) + little(frame.1) + [0, 2, 2, 0x44, 1, 0, 0x3B]
  }

  static func jpeg(_ width: UInt16, _ height: UInt16) -> [UInt8] {
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xC4, 0, 3, 9, 0xFF, 0xC2, 0, 11, 8]
      + [UInt8(height >> 8), UInt8(truncatingIfNeeded: height), UInt8(width >> 8), UInt8(truncatingIfNeeded: width)]
      + [1, 1, 0x11, 0, 0xFF, 0xD9]
  }

  static func webp(_ chunk: String, _ rest: [UInt8]) -> [UInt8] {
    let body = Array("RIFF".utf8) + [40, 0, 0, 0] + Array("WEBP".utf8) + Array(chunk.utf8) + [20, 0, 0, 0] + rest
    return body + [UInt8](repeating: 0, count: max(0, 40 - body.count))
  }

  @Test func kindAndSizeAreReadFromTheFirstBytes() throws {
    let pictures: [([UInt8], String, Int, Int)] = [
      (Self.png(80, 81), "image/png", 80, 81), (Self.gif(1, 2), "image/gif", 1, 2),
      (Self.jpeg(460, 300), "image/jpeg", 460, 300),
      (Self.webp("VP8 ", [0, 0, 0, 0x9D, 1, 0x2A, 0x50, 0, 0x3C, 0x40]), "image/webp", 80, 60),
      (Self.webp("VP8L", [0x2F, 0x4F, 0xC0, 0x0E, 0]), "image/webp", 80, 60),
      (Self.webp("VP8X", [0, 0, 0, 0, 79, 0, 0, 59, 0, 0]), "image/webp", 80, 60),
    ]
    for (bytes, type, width, height) in pictures {
      let picture = try Picture(bytes, claimedType: type)
      #expect(picture.kind.rawValue == type)
      #expect(picture.width == width && picture.height == height, "\(type)")
      #expect(picture.bytes == bytes)
    }
    #expect(try Picture(Self.jpeg(1, 1), claimedType: "image/jpg").kind == .jpeg)
    #expect(try Picture(Self.png(1, 1), claimedType: "IMAGE/PNG; charset=binary").kind == .png)
  }

  @Test func whatIsNoPictureIsRefused() {
    let svg = Array("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".utf8)
    for (bytes, type) in [
      ([], "image/png"), (Array("<html></html>".utf8), "image/png"), (svg, "image/svg+xml"), (svg, "image/png"),
      (Self.png(1, 1), "image/gif"), (Self.png(1, 1), "text/html"), (Self.png(1, 1), nil),
      (Array("\u{FEFF}".utf8) + Self.png(1, 1), "image/png"), ([0x20] + Self.gif(1, 1), "image/gif"),
      (Array("%PDF-1.7".utf8), "image/png"), ([0, 0, 1, 0, 1, 0], "image/x-icon"),
      (Array(Self.png(1, 1).prefix(32)), "image/png"), (Array(Self.gif(1, 1).prefix(20)), "image/gif"),
      (Array(Self.jpeg(1, 1).prefix(14)), "image/jpeg"), ([0xFF, 0xD8, 0xFF, 0xDA, 0, 2, 0, 0], "image/jpeg"),
      ([0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 0, 0], "image/jpeg"), (Self.webp("ALPH", []), "image/webp"),
      (Self.png(0, 1), "image/png"), (Self.gif(0, 0), "image/gif"),
    ] as [([UInt8], String?)] {
      #expect(throws: Malformed.self) { try Picture(bytes, claimedType: type) }
    }
  }

  /// A picture of a few bytes that unpacks to gigabytes.
  @Test func pixelBombsAreRefusedByTheirHeader() throws {
    #expect(try Picture(Self.png(4_096, 4_096), claimedType: "image/png").width == 4_096)
    for (width, height) in [(4_097, 1), (1, 4_097), (100_000, 100_000), (UInt32.max, UInt32.max)] as [(UInt32, UInt32)]
    {
      #expect(throws: Malformed("more pixels than are taken")) {
        try Picture(Self.png(width, height), claimedType: "image/png")
      }
    }
    // A small screen with a large frame on it.
    #expect(throws: Malformed("more pixels than are taken")) {
      try Picture(Self.gif(1, 1, frame: (60_000, 60_000)), claimedType: "image/gif")
    }
    #expect(throws: Malformed("more pixels than are taken")) {
      try Picture(Self.jpeg(65_535, 65_535), claimedType: "image/jpeg")
    }
  }

  @Test func picturesEndAtTwoMebibytes() throws {
    let padded = Self.png(1, 1) + [UInt8](repeating: 0, count: Picture.maxBytes - 33)
    #expect(try Picture(padded, claimedType: "image/png").bytes.count == 2_097_152)
    #expect(throws: Malformed.self) { try Picture(padded + [0], claimedType: "image/png") }
  }

  /// A header cut anywhere reads nothing beyond its end.
  @Test func everyPrefixOfAHeaderIsTakenOrRefused() {
    let whole: [([UInt8], String)] = [
      (Self.png(9, 9), "image/png"), (Self.gif(9, 9), "image/gif"), (Self.jpeg(9, 9), "image/jpeg"),
      (Self.webp("VP8X", [0, 0, 0, 0, 9, 0, 0, 9, 0, 0]), "image/webp"),
      (Self.webp("VP8 ", [0, 0, 0, 0x9D, 1, 0x2A, 9, 0, 9, 0]), "image/webp"),
    ]
    for (bytes, type) in whole {
      for length in 0...bytes.count {
        let picture = try? Picture(Array(bytes.prefix(length)), claimedType: type)
        if let picture { #expect(picture.width <= 10) }
      }
    }
  }

  @Test(arguments: [
    // codimd#1489, OurUmbraco#676: `?` twice.
    ("https://avatars.githubusercontent.com/u/1?v=4", "https://avatars.githubusercontent.com/u/1?v=4&s=80"),
    ("https://avatars.githubusercontent.com/u/1?u=abc&v=4", "https://avatars.githubusercontent.com/u/1?u=abc&v=4&s=80"),
    ("https://avatars.githubusercontent.com/u/1?v=4?s=96", "https://avatars.githubusercontent.com/u/1?v=4&s=80"),
    ("https://avatars.githubusercontent.com/u/1?s=460&v=4", "https://avatars.githubusercontent.com/u/1?v=4&s=80"),
    ("https://avatars.githubusercontent.com/u/1?size=9&v=4&s=1", "https://avatars.githubusercontent.com/u/1?v=4&s=80"),
    ("https://avatars.githubusercontent.com/in/29110", "https://avatars.githubusercontent.com/in/29110?s=80"),
    ("https://avatars.githubusercontent.com/u/1?", "https://avatars.githubusercontent.com/u/1?s=80"),
    ("http://127.0.0.1:99/u/1?v=4", "http://127.0.0.1:99/u/1?v=4&s=80"),
  ])
  func theSizeIsSetByEditingTheQuery(url: String, expected: String) {
    #expect(PictureAddress.sized(url, pixels: 80) == expected)
  }

  @Test(arguments: [
    "", "avatars.githubusercontent.com/u/1", "//avatars.githubusercontent.com/u/1", "file:///etc/passwd",
    "javascript:alert(1)", "https://user@avatars.githubusercontent.com/u/1", "https://a b/u", "https://a\n.example/",
  ])
  func whatIsNoAddressIsNotEdited(url: String) {
    #expect(PictureAddress.sized(url, pixels: 80) == nil)
  }

  @Test func callsCarryNoToken() {
    let call = PictureRequest(
      at: "https://avatars.githubusercontent.com/u/1?s=80", userAgent: "Magpie", validators: Validators(etag: "\"x\"")
    ).call
    #expect(call.fields[.authorization] == nil)
    #expect(call.fields[.ifNoneMatch] == "\"x\"")
    #expect(call.fields[.accept] == "image/png, image/jpeg, image/gif, image/webp")
    #expect(call.maxBytes == 2_097_152)
  }
}
