import Glibc

/// A statement that one session has prepared, or is about to.
///
/// `@unchecked Sendable` is not needed: it never leaves its session.
final class Statement {
  let sql: String
  let types: [UInt32]
  /// As libpq takes it.
  let name: UnsafeMutablePointer<CChar>
  /// Set when the server has said so. Until then others send the text itself: they must not depend on a statement that
  /// may turn out not to exist.
  var isConfirmed = false

  init(_ query: Query, number: Int) {
    sql = query.sql
    types = query.bindings.entries.map(\.type)
    name = strdup("s\(number)")
  }

  deinit { free(name) }

  func matches(_ query: Query) -> Bool {
    let entries = query.bindings.entries
    guard entries.count == types.count, sql == query.sql else { return false }
    for index in types.indices where types[index] != entries[index].type { return false }
    return true
  }
}

/// The prepared statements of one session, found by text and parameter types.
struct StatementCache {
  /// Statements a session keeps. Further ones are sent as text each time, which is slower and otherwise the same.
  static let limit = 256

  private var statements: [UInt64: Statement] = [:]
  private var nextNumber = 0

  enum Choice {
    /// Execute it by name.
    case prepared(Statement)
    /// Prepare it now, then execute it by name.
    case prepare(Statement)
    /// Send the text.
    case plain
  }

  mutating func choose(_ query: Query) -> Choice {
    let key = query.fingerprint
    if let known = statements[key] {
      return known.isConfirmed && known.matches(query) ? .prepared(known) : .plain
    }
    guard statements.count < StatementCache.limit else { return .plain }
    let statement = Statement(query, number: nextNumber)
    nextNumber += 1
    statements[key] = statement
    return .prepare(statement)
  }

  mutating func forget(_ query: Query) { statements[query.fingerprint] = nil }
}

extension Query {
  /// A hash of the text and the parameter types. Not kept secret from anybody: texts come from the program.
  var fingerprint: UInt64 {
    var text = sql
    var hash: UInt64 = text.withUTF8 { bytes in
      let raw = UnsafeRawBufferPointer(bytes)
      var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(raw.count)
      var offset = 0
      while offset + 8 <= raw.count {
        hash = Query.mix(hash, raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        offset += 8
      }
      var rest: UInt64 = 0
      while offset < raw.count {
        rest = rest << 8 | UInt64(raw[offset])
        offset += 1
      }
      return Query.mix(hash, rest)
    }
    for entry in bindings.entries { hash = Query.mix(hash, UInt64(entry.type)) }
    return hash
  }

  @inline(__always)
  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low &+ 0x2545_F491_4F6C_DD1D
  }
}
