import HTTP
import Magpie

/// Comma-separated values (RFC 4180) of favorites. Columns are known by the names in the first row, in any order.
///
/// A cell that a spreadsheet would take for a formula gets an apostrophe in front, which is taken away again when it is read.
enum CSV {
  static let columns = [
    "kind", "id", "title", "subtitle", "url", "image", "note", "tags", "collections", "rank", "added_at",
  ]

  private static let risky: Set<Character> = ["=", "+", "-", "@", "\t", "\r", "\r\n", "\n"]

  static func cell(_ text: String) -> String {
    var text = text
    // An apostrophe that stands before such a sign gets one more, so that each can be told from the other.
    if let first = text.drop(while: { $0 == "'" }).first, risky.contains(first) { text = "'" + text }
    guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) || text.first == " "
    else {
      return text
    }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted += "\"" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }

  static func uncovered(_ cell: String) -> String {
    guard cell.first == "'", let first = cell.drop(while: { $0 == "'" }).first, risky.contains(first) else {
      return cell
    }
    return String(cell.dropFirst())
  }

  /// Several texts in one cell, with semicolons between.
  static func list(_ texts: [String]) -> String {
    texts.map { text in
      var escaped = ""
      for character in text.unicodeScalars {
        if character == ";" || character == "\\" { escaped += "\\" }
        escaped.unicodeScalars.append(character)
      }
      return escaped
    }.joined(separator: ";")
  }

  static func texts(of list: String) -> [String] {
    var texts: [String] = []
    var text = ""
    var isEscaped = false
    for scalar in list.unicodeScalars {
      if isEscaped || (scalar != "\\" && scalar != ";") {
        text.unicodeScalars.append(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else {
        texts.append(text)
        text = ""
      }
    }
    texts.append(text)
    return texts.filter { !$0.isEmpty }
  }

  /// Rows of cells; `nil` when a quoted cell has no end.
  static func rows(_ text: String) -> [[String]]? {
    var rows: [[String]] = []
    var row: [String] = []
    var cell: [UInt8] = []
    var isQuoted = false
    var wasQuoted = false
    func finished() -> String { String(decoding: cell, as: UTF8.self) }
    let bytes = Array(text.utf8)
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if isQuoted {
        guard byte == 0x22 else {
          cell.append(byte)
          continue
        }
        if place < bytes.count, bytes[place] == 0x22 {
          cell.append(byte)
          place += 1
        } else {
          isQuoted = false
        }
        continue
      }
      switch byte {
      case 0x22 where cell.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
      case 0x2C:
        row.append(finished())
        (cell, wasQuoted) = ([], false)
      case 0x0D where place < bytes.count && bytes[place] == 0x0A: break
      case 0x0A, 0x0D:
        row.append(finished())
        (cell, wasQuoted) = ([], false)
        if row != [""] { rows.append(row) }
        row = []
      default: cell.append(byte)
      }
    }
    if isQuoted { return nil }
    if !cell.isEmpty || !row.isEmpty {
      row.append(finished())
      rows.append(row)
    }
    return rows
  }
}

/// Reads such a file.
enum CSVImport {
  static func read(_ text: String) throws -> ImportReader.Result {
    guard let rows = CSV.rows(text) else { throw ImportReader.refusal("", "has a quoted cell without an end") }
    guard let head = rows.first?.map({ $0.lowercased() }),
      head.contains("url") || head.contains("kind") && head.contains("id")
    else { throw ImportReader.refusal("/0", "must name the columns: \(CSV.columns.joined(separator: ", "))") }
    guard rows.count - 1 <= Favorites.maxCount else {
      throw ImportReader.refusal("", "must not have more than \(Favorites.maxCount) rows")
    }
    var result = ImportReader.Result()
    for (number, row) in rows.enumerated().dropFirst() {
      var cells: [String: String] = [:]
      for (name, cell) in zip(head, row) where !cell.isEmpty { cells[name] = CSV.uncovered(cell) }
      result.things.items += try item(cells, number, &result).map { [$0] } ?? []
    }
    return result
  }

  private static func item(
    _ cells: [String: String], _ number: Int, _ result: inout ImportReader.Result
  ) throws -> FavoriteImport.Item? {
    func refuse(_ column: String, _ detail: String) -> APIError { ImportReader.refusal("/\(number)/\(column)", detail) }
    var item: FavoriteImport.Item
    if let name = cells["kind"], let id = cells["id"] {
      guard let kind = Favorite.Kind(rawValue: name) else { throw refuse("kind", "must be a kind of favorite") }
      guard FavoriteEndpoints.isPlausible(kind, id) else { throw refuse("id", "cannot be the id of a \(name)") }
      item = FavoriteImport.Item(kind, id)
    } else if let found = cells["url"].flatMap(ImportReader.item(at:)) {
      item = found
    } else {
      result.skip("/\(number)", "neither kind and id, nor an address of GitHub or GIPHY")
      return nil
    }
    for (name, path, limit) in [
      ("title", \FavoriteImport.Item.title, FavoriteBody.maxText), ("subtitle", \.subtitle, FavoriteBody.maxText),
      ("url", \.url, FavoriteBody.maxAddress), ("image", \.image, FavoriteBody.maxAddress),
    ] {
      guard let text = cells[name] else { continue }
      if text.unicodeScalars.count > limit { throw refuse(name, "must not have more than \(limit) characters") }
      item[keyPath: path] = text
    }
    item.change.note = cells["note"]
    if let note = cells["note"], note.utf8.count > FavoriteBody.maxNote {
      throw refuse("note", "must not be longer than \(FavoriteBody.maxNote) bytes")
    }
    item.change.rank = cells["rank"]
    if let rank = cells["rank"], !Rank.isValid(rank) { throw refuse("rank", "must be printable ASCII") }
    let tags = CSV.texts(of: cells["tags"] ?? "")
    if tags.count > FavoriteBody.maxTags || tags.contains(where: { $0.unicodeScalars.count > FavoriteBody.maxTag }) {
      throw refuse("tags", "must be at most \(FavoriteBody.maxTags) of at most \(FavoriteBody.maxTag) characters")
    }
    item.change.tags = tags
    item.collectionNames = CSV.texts(of: cells["collections"] ?? "")
    if item.collectionNames.contains(where: { $0.unicodeScalars.count > Collections.maxName }) {
      throw refuse("collections", "must have names of at most \(Collections.maxName) characters")
    }
    if let time = cells["added_at"] {
      item.change.addedAt = FavoriteBody.time(time)
      if item.change.addedAt == nil { throw refuse("added_at", FavoriteBody.timeExpected) }
    }
    return item
  }
}
