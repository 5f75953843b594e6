import Synchronization
import Testing

@testable import EventLoop

@Suite(.timeLimit(.minutes(1))) struct StopTests {
  /// More jobs than fit a turn: the word to stop is heard in an early one, and the last jobs are run before a wait.
  @Test func stopIsNotForgottenOverJobsThatAreLeft() throws {
    let count = EventLoop.jobsPerTurn * 3
    let done = Counter()
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    loop.execute {
      loop.stop()
      for _ in 0..<count { Task(executorPreference: loop) { done.add() } }
    }
    group.stop()
    #expect(done.count == count)
  }
}

private final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .relaxed) }
  func add() { value.add(1, ordering: .relaxed) }
}
