import HTTP
import JSONText
import Magpie

/// Writes an account in one of the forms of an export, piece by piece.
struct ExportWriter {
  enum Form: String, CaseIterable {
    case json
    case csv
    case html

    var mediaType: String {
      switch self {
      case .json: "application/json; charset=utf-8"
      case .csv: "text/csv; charset=utf-8; header=present"
      case .html: "text/html; charset=utf-8"
      }
    }
  }

  let form: Form
  private var section = Section.head
  private var isFirst = true

  private enum Section: Int {
    case head
    case collections
    case favorites
    case tombstones
    case goneCollections
    case end
  }

  init(_ form: Form) { self.form = form }

  /// The beginning.
  func head() -> [UInt8] {
    switch form {
    case .json: return []
    case .csv: return Array((CSV.columns.joined(separator: ",") + "\r\n").utf8)
    case .html:
      return Array(
        """
        <!DOCTYPE NETSCAPE-Bookmark-file-1>
        <META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
        <TITLE>Bookmarks</TITLE>
        <H1>Bookmarks</H1>
        <DL><p>

        """.utf8)
    }
  }

  /// What comes next.
  mutating func text(_ parts: [Favorites.ExportPart]) -> [UInt8] {
    var bytes: [UInt8] = []
    for part in parts {
      switch form {
      case .json: json(part, to: &bytes)
      case .csv: if case .favorite(let document, let names) = part { bytes += csv(JSONView(checked: document), names) }
      case .html: if case .favorite(let document, _) = part { bytes += html(JSONView(checked: document)) }
      }
    }
    return bytes
  }

  /// The end.
  mutating func end() -> [UInt8] {
    switch form {
    case .json:
      var bytes: [UInt8] = []
      begin(.end, &bytes)
      return bytes
    case .csv: return []
    case .html: return Array("</DL><p>\n".utf8)
    }
  }

  // MARK: JSON

  private mutating func json(_ part: Favorites.ExportPart, to bytes: inout [UInt8]) {
    let (wanted, document): (Section, [UInt8]) =
      switch part {
      case .account(let document, let time):
        (
          .head,
          Array(
            """
            {"format":"\(ExportReader.format)","format_version":\(ExportReader.formatVersion),"exported_at":"\(time)","account":
            """.utf8) + document
        )
      case .collection(let document): (.collections, document)
      case .favorite(let document, _): (.favorites, document)
      case .favoriteTombstone(let document): (.tombstones, document)
      case .collectionTombstone(let document): (.goneCollections, document)
      }
    begin(wanted, &bytes)
    if wanted != .head {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      bytes.append(UInt8(ascii: "\n"))
      isFirst = false
    }
    bytes += document
  }

  /// Closes what is open and opens all up to a section, empty ones too.
  private mutating func begin(_ wanted: Section, _ bytes: inout [UInt8]) {
    while section.rawValue < wanted.rawValue, let next = Section(rawValue: section.rawValue + 1) {
      let text =
        switch next {
        case .head: ""
        case .collections: ",\"collections\":["
        case .favorites: "],\"favorites\":["
        case .tombstones: "],\"tombstones\":{\"favorites\":["
        case .goneCollections: "],\"collections\":["
        case .end: "]}}\n"
        }
      bytes += Array(text.utf8)
      section = next
      isFirst = true
    }
  }

  // MARK: Others

  private func csv(_ view: JSONView, _ names: [String]) -> [UInt8] {
    let cells = CSV.columns.map { column in
      switch column {
      case "tags": CSV.list(view["tags"]?.elements.compactMap(\.string) ?? [])
      case "collections": CSV.list(names)
      default: view[column]?.string ?? ""
      }
    }
    return Array((cells.map(CSV.cell).joined(separator: ",") + "\r\n").utf8)
  }

  private func html(_ view: JSONView) -> [UInt8] {
    func text(_ name: String) -> String { ExportWriter.escaped(view[name]?.string ?? "") }
    let time = Timestamp(view["added_at"]?.string ?? "")
    let title = text("title").isEmpty ? text("id") : text("title")
    let tags = ExportWriter.escaped((view["tags"]?.elements.compactMap(\.string) ?? []).joined(separator: ","))
    var line =
      "<DT><A HREF=\"\(text("url"))\" ADD_DATE=\"\((time?.microseconds ?? 0) / 1_000_000)\" TAGS=\"\(tags)\" "
      + "DATA-KIND=\"\(text("kind"))\" DATA-ID=\"\(text("id"))\">\(title)</A>\n"
    if !text("note").isEmpty { line += "<DD>\(text("note"))\n" }
    return Array(line.utf8)
  }

  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
