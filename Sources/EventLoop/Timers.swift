/// Names a scheduled call, so that it can be cancelled. Cancelling one that has run does nothing.
public struct TimerID: Hashable, Sendable {
  let deadline: UInt64
  let number: UInt64
}

/// Deadlines in order: a binary heap, cancelled entries left in place until they surface. Pure, no clock of its own.
struct TimerHeap {
  private struct Entry {
    let id: TimerID
    let body: () -> Void
  }

  private var heap: [Entry] = []
  /// Numbers of the calls still wanted. An entry that is not among them was cancelled and is dropped when it surfaces.
  private var wanted: Set<UInt64> = []
  private var nextNumber: UInt64 = 0

  var count: Int { wanted.count }

  /// Entries held, cancelled ones included.
  var stored: Int { heap.count }

  /// The earliest deadline still wanted.
  var nextDeadline: UInt64? {
    mutating get {
      dropCancelled()
      return heap.first?.id.deadline
    }
  }

  mutating func insert(deadline: UInt64, _ body: @escaping () -> Void) -> TimerID {
    let id = TimerID(deadline: deadline, number: nextNumber)
    nextNumber += 1
    wanted.insert(id.number)
    heap.append(Entry(id: id, body: body))
    siftUp(heap.count - 1)
    return id
  }

  /// `false` when it has run or was cancelled before.
  @discardableResult
  mutating func cancel(_ id: TimerID) -> Bool {
    guard wanted.remove(id.number) != nil else { return false }
    // Many cancelled deadlines far in the future must not pile up: rebuild once they are the majority.
    if heap.count > 64, heap.count > 2 * wanted.count { compact() }
    return true
  }

  /// Takes the earliest call whose deadline is not after `now`.
  mutating func popDue(_ now: UInt64) -> (() -> Void)? {
    dropCancelled()
    guard let first = heap.first, first.id.deadline <= now else { return nil }
    wanted.remove(first.id.number)
    removeFirst()
    return first.body
  }

  private mutating func dropCancelled() {
    while let first = heap.first, !wanted.contains(first.id.number) { removeFirst() }
  }

  private mutating func compact() {
    heap = heap.filter { wanted.contains($0.id.number) }.sorted { TimerHeap.before($0.id, $1.id) }
  }

  private static func before(_ a: TimerID, _ b: TimerID) -> Bool {
    a.deadline != b.deadline ? a.deadline < b.deadline : a.number < b.number
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if TimerHeap.before(heap[child].id, heap[least].id) { least = child }
      }
      if least == parent { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      if !TimerHeap.before(heap[child].id, heap[parent].id) { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }
}
