/// A text with places for values, split once so that filling it in is only appending.
struct ByteTemplate<Place: RawRepresentable & CaseIterable & Sendable>: Sendable where Place.RawValue == String {
  private enum Piece {
    case bytes([UInt8])
    case place(Place)
  }

  private let pieces: [Piece]

  /// Places are written as `«name»`.
  init(_ text: String) {
    var pieces: [Piece] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "«"), let close = rest[open...].firstIndex(of: "»") {
      pieces.append(.bytes(Array(rest[..<open].utf8)))
      let name = rest[rest.index(after: open)..<close]
      if let place = Place(rawValue: String(name)) { pieces.append(.place(place)) }
      rest = rest[rest.index(after: close)...]
    }
    pieces.append(.bytes(Array(rest.utf8)))
    self.pieces = pieces
  }

  @inline(__always)
  func append(to bytes: inout [UInt8], _ value: (Place, inout [UInt8]) -> Void) {
    for piece in pieces {
      switch piece {
      case .bytes(let text): bytes.append(contentsOf: text)
      case .place(let place): value(place, &bytes)
      }
    }
  }
}
