import Testing

@testable import Magpie

@Suite struct PlaceholderImageTests {
  /// Type and data of each chunk, its checksum having been checked.
  private func chunks(_ png: [UInt8]) throws -> [(type: String, data: [UInt8])] {
    func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
    try #require(png.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
    var chunks: [(type: String, data: [UInt8])] = []
    var place = 8
    while place < png.count {
      let count = number(png[place..<place + 4])
      let body = png[place + 4..<place + 8 + count]
      #expect(UInt32(number(png[(place + 8 + count)..<(place + 12 + count)])) == Digest.crc32(body))
      chunks.append((String(decoding: body.prefix(4), as: UTF8.self), Array(body.dropFirst(4))))
      place += 12 + count
    }
    return chunks
  }

  @Test func `a picture says its size and its one color`() throws {
    let image = try #require(PlaceholderImage(width: 600, height: 400, color: 0x92C952))
    let chunks = try chunks(image.png)
    #expect(chunks.map(\.type) == ["IHDR", "PLTE", "IDAT", "IEND"])
    #expect(chunks[0].data == [0, 0, 2, 88, 0, 0, 1, 144, 1, 3, 0, 0, 0])
    #expect(chunks[1].data == [0x92, 0xC9, 0x52])
    #expect(image.png == image.png)
  }

  @Test func `sizes end at two thousand, and even then a picture is small`() throws {
    for (width, height) in [(1, 1), (1, 2_000), (2_000, 1), (2_000, 2_000), (7, 9)] {
      let image = try #require(PlaceholderImage(width: width, height: height, color: 0))
      #expect(image.png.count < 1_000)
    }
    for (width, height) in [(0, 1), (1, 0), (2_001, 1), (1, 2_001), (-1, 5)] {
      #expect(PlaceholderImage(width: width, height: height, color: 0) == nil)
    }
    #expect(PlaceholderImage(width: 1, height: 1, color: 0x100_0000) == nil)
  }

  @Test func `what is kept of sizes has a bound, and changes nothing`() throws {
    let first = try #require(PlaceholderImage(width: 33, height: 33, color: 1)).png
    for side in 1...200 { _ = PlaceholderImage(width: side, height: 1, color: 1)?.png }
    #expect(try #require(PlaceholderImage(width: 33, height: 33, color: 1)).png == first)
  }
}
