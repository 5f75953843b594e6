import Testing

@testable import EventLoop

@Suite struct TimerHeapTests {
  @Test func callsComeInOrderOfDeadlineThenOfInsertion() {
    var heap = TimerHeap()
    var order: [Int] = []
    for (index, deadline) in [50, 10, 30, 10, 40, 20].enumerated() {
      _ = heap.insert(deadline: UInt64(deadline)) { order.append(index) }
    }
    while let due = heap.popDue(100) { due() }
    #expect(order == [1, 3, 5, 2, 4, 0])
  }

  @Test func nothingRunsBeforeItsDeadline() {
    var heap = TimerHeap()
    _ = heap.insert(deadline: 11) {}
    let early = heap.popDue(10)
    let next = heap.nextDeadline
    let due = heap.popDue(11)
    let none = heap.nextDeadline
    #expect(early == nil)
    #expect(next == 11)
    #expect(due != nil)
    #expect(none == nil)
  }

  @Test func cancelledCallNeverRuns() {
    var heap = TimerHeap()
    let first = heap.insert(deadline: 1) { Issue.record("ran") }
    _ = heap.insert(deadline: 2) {}
    let cancelled = (heap.cancel(first), heap.cancel(first))
    #expect(cancelled == (true, false))
    let next = heap.nextDeadline
    #expect(next == 2)
    let due = heap.popDue(1)
    #expect(due == nil)
  }

  @Test func tenThousandCancelledCallsDoNotPileUp() {
    var heap = TimerHeap()
    for round in 0..<10_000 {
      let id = heap.insert(deadline: UInt64(1_000_000 + round)) {}
      heap.cancel(id)
    }
    #expect(heap.count == 0)
    #expect(heap.stored <= 65)
  }
}
