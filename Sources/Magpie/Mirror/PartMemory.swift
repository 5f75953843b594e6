import EventLoop

/// Remembers which members parts of lists have had: of a page whose items are remembered, to send their ids and to read them
/// was a seventh of the work.
///
/// Nothing is ever out of date: the statement is told the digests of the pages that are remembered, and PostgreSQL leaves the
/// members of those pages out, and of no others.
final class PartMemory: Sendable {
  /// What was asked for.
  struct Name: Hashable, Sendable {
    let kind: String
    let person: Person
    let first: Int64
    let count: Int
  }

  /// What one of the upstream's pages has contributed to a part.
  struct Piece: Sendable {
    /// Position of the page's first member.
    let first: Int64
    /// Of the whole page.
    let digest: Int64
    let keys: [ItemMemory.Key]
  }

  /// Parts at which everything is forgotten and begun anew: they take 4 MB at most.
  static let capacity = 2_048

  private let parts = Lock<[Name: [Piece]]>([:])

  /// Empty when nothing is remembered.
  func pieces(_ name: Name) -> [Piece] { parts.withLock { $0[name] ?? [] } }

  func keep(_ pieces: [Piece], _ name: Name) {
    parts.withLock { parts in
      if parts.count >= PartMemory.capacity { parts = [:] }
      parts[name] = pieces
    }
  }
}
