import HTTP
import Magpie

/// Reads a browser's bookmarks in the form that Netscape's had: links of `GitHub` and `GIPHY` become favorites, headings the
/// collections they are in, and `DD` their notes. Nothing of it is run or shown; what is no link is passed over.
enum BookmarkImport {
  static func read(_ text: String) -> ImportReader.Result {
    var result = ImportReader.Result()
    var folders: [String?] = []
    var heading: String?
    var isNote = false
    var scanner = HTMLScanner(text)
    while let token = scanner.next() {
      switch token {
      case .text(let text):
        if isNote, let last = result.things.items.indices.last {
          let note = text.trimmed
          if !note.isEmpty, note.utf8.count <= FavoriteBody.maxNote { result.things.items[last].change.note = note }
        }
        isNote = false
      case .tag(let name, let attributes):
        isNote = false
        switch name {
        case "h3": heading = scanner.text(until: "h3").trimmed
        case "dl":
          folders.append(heading)
          heading = nil
        case "/dl": _ = folders.popLast()
        case "dd": isNote = !result.things.items.isEmpty
        case "a":
          let title = scanner.text(until: "a").trimmed
          guard let item = item(attributes, title, folders.compactMap { $0 }.last) else {
            result.skip(attributes["href"] ?? "", "no person or repository of GitHub, and no GIF of GIPHY")
            continue
          }
          guard result.things.items.count < Favorites.maxCount else {
            result.skip(attributes["href"] ?? "", "more than an account can have")
            continue
          }
          result.things.items.append(item)
        default: break
        }
      }
    }
    return result
  }

  private static func item(_ attributes: [String: String], _ title: String, _ folder: String?) -> FavoriteImport.Item? {
    var item: FavoriteImport.Item
    if let kind = attributes["data-kind"].flatMap({ Favorite.Kind(rawValue: $0) }), let id = attributes["data-id"],
      FavoriteEndpoints.isPlausible(kind, id)
    {
      item = FavoriteImport.Item(kind, id)
      item.url = attributes["href"].flatMap { $0.unicodeScalars.count <= FavoriteBody.maxAddress ? $0 : nil }
    } else if let found = attributes["href"].flatMap(ImportReader.item(at:)) {
      item = found
    } else {
      return nil
    }
    if !title.isEmpty {
      item.title = String(String.UnicodeScalarView(title.unicodeScalars.prefix(FavoriteBody.maxText)))
    }
    if let seconds = attributes["add_date"].flatMap({ Int64($0) }), (1...253_402_300_799).contains(seconds) {
      item.change.addedAt = Timestamp(seconds: seconds).description
    }
    let tags = (attributes["tags"] ?? "").split(separator: ",").map { String($0).trimmed }
    item.change.tags = Array(
      tags.filter { (1...FavoriteBody.maxTag).contains($0.unicodeScalars.count) }.prefix(FavoriteBody.maxTags))
    if let folder, (1...Collections.maxName).contains(folder.unicodeScalars.count) { item.collectionNames = [folder] }
    return item
  }
}

/// As much of HTML as bookmarks have: tags with attributes, and text with references. It goes through the text once.
struct HTMLScanner {
  enum Token {
    /// In small letters; a slash in front of closing ones.
    case tag(String, [String: String])
    case text(String)
  }

  private let bytes: [UInt8]
  private var place = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func next() -> Token? {
    guard place < bytes.count else { return nil }
    if bytes[place] != UInt8(ascii: "<") {
      let start = place
      while place < bytes.count, bytes[place] != UInt8(ascii: "<") { place += 1 }
      return .text(HTMLScanner.decoded(bytes[start..<place]))
    }
    return tag()
  }

  /// The text up to a closing tag, without the tags in it.
  mutating func text(until name: String) -> String {
    var all = ""
    while let token = next() {
      switch token {
      case .text(let text): all += text
      case .tag("/\(name)", _): return all
      // A heading or link that nobody has closed ends where the next thing begins.
      case .tag("dl", _), .tag("/dl", _), .tag("dt", _), .tag("a", _): return all
      case .tag: break
      }
    }
    return all
  }

  private mutating func tag() -> Token {
    place += 1
    // Comments and declarations.
    if place < bytes.count, bytes[place] == UInt8(ascii: "!") {
      let isComment = bytes[place...].starts(with: "!--".utf8)
      while place < bytes.count {
        if bytes[place] == UInt8(ascii: ">"), !isComment || bytes[..<place].suffix(2).elementsEqual("--".utf8) { break }
        place += 1
      }
      place += 1
      return .text("")
    }
    var attributes: [String: String] = [:]
    let name = word { $0 <= 0x20 || $0 == UInt8(ascii: ">") }
    while place < bytes.count, bytes[place] != UInt8(ascii: ">") {
      if bytes[place] <= 0x20 || bytes[place] == UInt8(ascii: "/") {
        place += 1
        continue
      }
      let key = word { $0 <= 0x20 || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "=") }
      guard place < bytes.count, bytes[place] == UInt8(ascii: "=") else { continue }
      place += 1
      let value: ArraySlice<UInt8>
      if place < bytes.count, bytes[place] == 0x22 || bytes[place] == 0x27 {
        let quote = bytes[place]
        let start = place + 1
        place = start
        while place < bytes.count, bytes[place] != quote { place += 1 }
        value = bytes[start..<place]
        place += 1
      } else {
        let start = place
        while place < bytes.count, bytes[place] > 0x20, bytes[place] != UInt8(ascii: ">") { place += 1 }
        value = bytes[start..<place]
      }
      if attributes.count < 20, attributes[key] == nil { attributes[key] = HTMLScanner.decoded(value) }
    }
    place += 1
    return .tag(name, attributes)
  }

  private mutating func word(until isEnd: (UInt8) -> Bool) -> String {
    let start = place
    while place < bytes.count, !isEnd(bytes[place]) { place += 1 }
    // Nobody stands still: a sign that begins nothing is a word of its own.
    if place == start, place < bytes.count, bytes[place] != UInt8(ascii: ">") { place += 1 }
    return String(decoding: bytes[start..<min(place, start + 40)], as: UTF8.self).lowercased()
  }

  private static let references: [String: String] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}",
  ]

  static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
    var text: [UInt8] = []
    var place = bytes.startIndex
    while place < bytes.endIndex {
      let byte = bytes[place]
      if byte == UInt8(ascii: "&"), let end = bytes[place...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
        let meant = meaning(String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
      {
        text += Array(meant.utf8)
        place = end + 1
      } else {
        text.append(byte)
        place += 1
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func meaning(_ name: String) -> String? {
    if let text = references[name] { return text }
    guard name.hasPrefix("#") else { return nil }
    let digits = name.dropFirst()
    let value = digits.first == "x" || digits.first == "X" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    guard let value, value != 0, let scalar = Unicode.Scalar(value) else { return nil }
    return String(Character(scalar))
  }
}

extension String {
  /// Without blanks at both ends.
  fileprivate var trimmed: String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
