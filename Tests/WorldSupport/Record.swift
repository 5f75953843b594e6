import Synchronization

/// What happened, in order, written down from wherever it happens.
package final class Record<Entry: Sendable>: Sendable {
  private let list = Mutex<[Entry]>([])

  package init() {}

  package var entries: [Entry] { list.withLock { $0 } }
  package func add(_ entry: Entry) { list.withLock { $0.append(entry) } }
}
