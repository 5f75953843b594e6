import JSONText

/// Made-up photos in albums of fifty, and albums in tens, with the texts in the service's own layout.
struct PhotoLibrary: Sendable {
  private let seed: Seed
  /// How many photos there are.
  var count = 5_000
  private var titles: [Int: String] = [:]
  /// Finished lists; emptied by every change.
  private var lists: [String: [UInt8]] = [:]

  init(seed: Seed) { self.seed = seed }

  var albumCount: Int { (count + 49) / 50 }

  mutating func setCount(_ count: Int) {
    self.count = max(0, min(count, 20_000))
    lists = [:]
  }

  mutating func rename(_ id: Int, _ title: String) {
    titles[id] = title
    lists = [:]
  }

  mutating func photos() -> [UInt8] { list("photos", 1..<count + 1, photo) }

  mutating func albums() -> [UInt8] { list("albums", 1..<albumCount + 1, album) }

  func photosOfAlbum(_ album: Int) -> [UInt8] {
    guard album >= 1, album <= albumCount else { return Array("[]".utf8) }
    return Self.joined((50 * (album - 1) + 1...min(50 * album, count)).map(photo))
  }

  private mutating func list(_ name: String, _ ids: Range<Int>, _ item: (Int) -> String) -> [UInt8] {
    if let list = lists[name] { return list }
    let list = Self.joined(ids.map(item))
    lists[name] = list
    return list
  }

  /// As `JSON.stringify` with two spaces lays it out.
  private static func joined(_ items: [String]) -> [UInt8] {
    if items.isEmpty { return Array("[]".utf8) }
    let indented = items.map { "  " + $0.split(separator: "\n").joined(separator: "\n  ") }
    return Array("[\n\(indented.joined(separator: ",\n"))\n]".utf8)
  }

  /// `nil`: there is none.
  func item(photo id: Int) -> [UInt8]? { id >= 1 && id <= count ? Array(photo(id).utf8) : nil }

  /// `nil`: there is none.
  func item(album id: Int) -> [UInt8]? { id >= 1 && id <= albumCount ? Array(album(id).utf8) : nil }

  private func photo(_ id: Int) -> String {
    // Numbers without their leading zeros, as there.
    let color = String(seed.number(.photos, UInt64(id)) >> 40, radix: 16)
    return """
      {
        "albumId": \((id - 1) / 50 + 1),
        "id": \(id),
        "title": \(Self.quoted(titles[id] ?? title(UInt64(id)))),
        "url": "https://via.placeholder.com/600/\(color)",
        "thumbnailUrl": "https://via.placeholder.com/150/\(color)"
      }
      """
  }

  private func album(_ id: Int) -> String {
    """
    {
      "userId": \((id - 1) / 10 + 1),
      "id": \(id),
      "title": "\(title(UInt64(id) + 1 << 32))"
    }
    """
  }

  private static let words = [
    "amet", "aut", "beatae", "commodi", "consequatur", "cum", "deleniti", "dolor", "ea", "eius", "enim", "et", "ex",
    "fugit", "hic", "illum", "in", "ipsa", "labore", "magni", "minus", "modi", "nemo", "nisi", "omnis", "quae", "quia",
    "rerum", "sed", "sit", "tempora", "ut", "vel", "velit", "veritatis", "voluptas",
  ]

  private func title(_ place: UInt64) -> String {
    var number = seed.number(.text, place)
    var words: [String] = []
    for _ in 0..<Int(2 + number % 8) {
      number = Seed.mix(number)
      words.append(Self.words[Int(number % UInt64(Self.words.count))])
    }
    return words.joined(separator: " ")
  }

  private static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
