import JSONText
import Magpie

/// The member that mirrored objects have beside the upstream's own: what the account that asks has to do with them.
enum MagpieMember {
  static func writeFavorite(_ tags: [String]?, to writer: inout JSONWriter) {
    writer.key("favorite")
    writer.bool(tags != nil)
    writer.key("tags")
    writer.beginArray()
    for tag in tags ?? [] { writer.string(tag) }
    writer.endArray()
  }

  // MARK: Items of lists

  /// An item as the mirror remembers it for this server: its addresses turned, up to the value of its member `magpie`.
  static func opened(_ document: UnsafeRawBufferPointer, _ addresses: URLRewriter) -> [UInt8] {
    var writer = JSONWriter(capacity: document.count + 512)
    addresses.appendObject(document, to: &writer) { writer in
      writer.key("magpie")
      writer.null()
    }
    // Only objects are stored as items.
    return writer.bytes.last == UInt8(ascii: "}")
      ? writer.bytes.dropLast("null}".utf8.count) : Array(#"{"magpie":"#.utf8)
  }

  /// Completes an item.
  @inline(__always)
  static func append(_ item: [UInt8], _ favoriteTags: [String]?, to writer: inout JSONWriter) {
    writer.rawObject(before: item) { writer in
      // What most items get, in one copy.
      guard let favoriteTags else { return writer.raw(#"{"favorite":false,"tags":[]}"#) }
      writer.beginObject()
      writeFavorite(favoriteTags, to: &writer)
      writer.endObject()
    }
  }

  /// What most items are completed with, and what comes before the next one.
  private static let plainEnd = Array(#"{"favorite":false,"tags":[]}}"#.utf8)
  private static let plainEndAndComma = plainEnd + [UInt8(ascii: ",")]
  private static let starredBegin = Array(#"{"favorite":true,"tags":"#.utf8)

  /// The document of a list in pieces, the remembered items among them as they are: to put a page together cost a quarter of
  /// the answer.
  static func pieces(of list: StoredList) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    pieces.reserveCapacity(2 * list.count + 2)
    pieces.append([UInt8(ascii: "[")])
    var left = list.count
    // Those who have the same tags end alike.
    var ends: [ObjectIdentifier: [UInt8]] = [:]
    list.forEachStarredMember { item, favoriteTags in
      left -= 1
      pieces.append(item)
      guard let favoriteTags else { return pieces.append(left > 0 ? plainEndAndComma : plainEnd) }
      guard left > 0 else { return pieces.append(starredBegin + favoriteTags.document + Array("}}".utf8)) }
      let identity = ObjectIdentifier(favoriteTags)
      if let end = ends[identity] { return pieces.append(end) }
      let end = starredBegin + favoriteTags.document + Array("}},".utf8)
      ends[identity] = end
      pieces.append(end)
    }
    pieces.append([UInt8(ascii: "]")])
    return pieces
  }
}
