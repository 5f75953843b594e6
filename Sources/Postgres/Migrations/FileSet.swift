import CLibcrypto

/// The files of a binary, and how they compare with what a database has recorded. Pure.
struct FileSet: Sendable {
  struct Entry: Sendable {
    let name: String
    let sql: String
    let checksum: [UInt8]
    let isRepeatable: Bool
  }

  /// What a database has recorded: checksums by name.
  struct Record: Equatable {
    var steps: [String: [UInt8]] = [:]
    var repeatable: [String: [UInt8]] = [:]
  }

  /// Proof that a record was checked.
  struct Checked {}

  private let steps: [Entry]
  private let repeatable: [Entry]

  init(_ migrations: [Migrator.File], _ repeatable: [Migrator.File]) {
    func entries(_ files: [Migrator.File], isRepeatable: Bool) -> [Entry] {
      files.sorted { $0.name < $1.name }.map {
        Entry(name: $0.name, sql: $0.sql, checksum: FileSet.checksum($0.sql), isRepeatable: isRepeatable)
      }
    }
    steps = entries(migrations, isRepeatable: false)
    self.repeatable = entries(repeatable, isRepeatable: true)
  }

  /// - Throws: `Migrator.Failure` when the record does not fit the files.
  func check(_ record: Record) throws(Migrator.Failure) -> Checked {
    let known = Set(steps.map(\.name))
    let last = steps.last?.name ?? ""
    let unknown = record.steps.keys.filter { !known.contains($0) }.sorted()
    let newer = unknown.filter { $0 > last }
    if !newer.isEmpty { throw .schemaNewer(names: newer) }
    if let name = unknown.first { throw .unknown(name: name) }
    let lastApplied = record.steps.keys.max() ?? ""
    for step in steps {
      if let applied = record.steps[step.name] {
        if applied != step.checksum { throw .changed(name: step.name) }
      } else if step.name < lastApplied {
        throw .outOfOrder(name: step.name, after: lastApplied)
      }
    }
    return Checked()
  }

  /// What is to be applied, in order.
  func pending(after record: Record, _ checked: Checked) -> [Entry] {
    steps.filter { record.steps[$0.name] == nil } + repeatable.filter { record.repeatable[$0.name] != $0.checksum }
  }

  /// SHA-256 of the UTF-8 text.
  static func checksum(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      SHA256(bytes, bytes.count, buffer.baseAddress)
      count = 32
    }
  }
}
