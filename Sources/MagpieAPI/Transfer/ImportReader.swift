import HTTP
import JSONText
import Magpie

/// Reads what is to be imported, in any of the forms that apps and browsers have.
enum ImportReader {
  /// In which form.
  enum Form: String, CaseIterable {
    /// An export of ours, or the list of an app: told apart by what is in it.
    case json
    case csv
    case html
  }

  static let maxBody = 16 << 20
  static let maxSkipped = 50

  /// What a file holds.
  struct Result {
    var things = FavoriteImport()
    /// What no favorite could be made of, and why; the first of them.
    var skipped: [(place: String, reason: String)] = []
    var skippedCount = 0

    mutating func skip(_ place: String, _ reason: String) {
      skippedCount += 1
      if skipped.count < ImportReader.maxSkipped { skipped.append((String(place.prefix(200)), reason)) }
    }
  }

  static func read(_ bytes: [UInt8], _ form: Form) throws -> Result {
    switch form {
    case .csv: return try CSVImport.read(try text(bytes))
    case .html: return BookmarkImport.read(try text(bytes))
    case .json: break
    }
    let view: JSONView
    do { view = try JSONView(bytes, limits: JSONText.Limits(maxBytes: maxBody)) } catch {
      throw APIError(.badRequest, "request/invalid-json", error.description)
    }
    switch view.kind {
    case .object: return Result(things: try ExportReader.read(bytes))
    case .array: return try AppListImport.read(bytes)
    default: throw refusal("", "must be an export, or a list of favorites")
    }
  }

  /// Text that can be stored.
  private static func text(_ bytes: [UInt8]) throws(APIError) -> String {
    // Other programs put a mark of the byte order in front.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw APIError(.unprocessableContent, "request/invalid-text", "The body must be UTF-8 without NUL.")
    }
    return text
  }

  static func refusal(_ pointer: String, _ detail: String) -> APIError {
    var problem = Problem(
      .unprocessableContent, code: "request/invalid-body", detail: "The body is not what this request takes.")
    problem.errors = [Problem.Detail(pointer: pointer, detail: detail)]
    return APIError(problem)
  }

  /// A favorite for what an address leads to; `nil` when it is nothing that can be one.
  static func item(at address: String) -> FavoriteImport.Item? {
    guard let scheme = address.range(of: "://") else { return nil }
    guard ["http", "https"].contains(address[..<scheme.lowerBound].lowercased()) else { return nil }
    let rest = address[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
    var parts = rest.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    guard !parts.isEmpty else { return nil }
    let host = parts.removeFirst().lowercased()
    var item: FavoriteImport.Item?
    switch host {
    case "github.com", "www.github.com":
      if parts.count == 1, FavoriteName(.githubUser, "@\(parts[0])") != nil {
        item = FavoriteImport.Item(.githubUser, "@\(parts[0])")
      } else if parts.count >= 2, FavoriteName(.githubRepository, "@\(parts[0])/\(parts[1])") != nil {
        item = FavoriteImport.Item(.githubRepository, "@\(parts[0])/\(parts[1])")
      }
    case "giphy.com", "www.giphy.com":
      // …/gifs/some-words-ID, …/stickers/ID
      guard parts.count >= 2, ["gifs", "stickers", "clips"].contains(parts[0]),
        let id = parts[1].split(separator: "-").last.map(String.init), isGif(id)
      else { return nil }
      item = FavoriteImport.Item(.gif, id)
    default: return nil
    }
    item?.url = address.unicodeScalars.count <= FavoriteBody.maxAddress ? address : nil
    return item
  }

  private static func isGif(_ id: String) -> Bool {
    (1...60).contains(id.utf8.count)
      && id.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
  }
}

extension String {
  /// The first place of a text within this one.
  fileprivate func range(of text: String) -> Range<Index>? {
    let (all, wanted) = (utf8, text.utf8)
    var start = all.startIndex
    while start < all.endIndex {
      if all[start...].starts(with: wanted) { return start..<all.index(start, offsetBy: wanted.count) }
      start = all.index(after: start)
    }
    return nil
  }
}
