import Synchronization
import Testing

@testable import EventLoop

@Suite struct EventLoopTests {
  @Test func taskAndEverythingItAwaitsStaysOnTheLoop() async throws {
    try await withLoop { loop in
      let seen = try await loop.run { () -> [Bool] in
        actor Counter {
          func onLoop(_ loop: EventLoop) -> Bool { loop.isCurrent }
        }
        async let child = loop.isCurrent
        let group = await withTaskGroup(of: Bool.self) { group in
          group.addTask { loop.isCurrent }
          return await group.next() ?? false
        }
        await Task.yield()
        return [loop.isCurrent, await Counter().onLoop(loop), await child, group, EventLoop.current === loop]
      }
      #expect(seen == [true, true, true, true, true])
      #expect(!loop.isCurrent)
    }
  }

  @Test func hostedCodeRunsOnTheLoopAndItsCallerStaysOffIt() async throws {
    let loop = try await withLoop { loop in
      #expect(await loop.hosting { loop.isCurrent })
      #expect(!loop.isCurrent)
      await #expect(throws: CancellationError.self) { try await loop.hosting { throw CancellationError() } }
      return loop
    }
    // The loop has ended.
    #expect(await loop.hosting { !loop.isCurrent })
  }

  @Test func sleepReturnsToTheLoopAfterTheDelay() async throws {
    try await withLoop { loop in
      let (elapsed, onLoop) = try await loop.run {
        let start = System.monotonicNanoseconds()
        try await loop.sleep(for: .milliseconds(20))
        return (System.monotonicNanoseconds() - start, loop.isCurrent)
      }
      #expect(elapsed >= 20_000_000)
      #expect(onLoop)
    }
  }

  @Test func cancelledSleepThrowsAtOnce() async throws {
    try await withLoop { loop in
      let task = Task(executorPreference: loop) { try await loop.sleep(for: .seconds(3600)) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func readinessIsReportedAndEndsWithCancel() async throws {
    try await withLoop { loop in
      let (left, right) = try System.socketPair()
      defer {
        System.close(left)
        System.close(right)
      }
      let handler = Recorder()
      let registration = try await loop.run {
        try loop.register(left, for: [.read, .peerClosed], trigger: .edge, handler)
      }
      _ = try [UInt8(1)].withUnsafeBytes { try System.send(right, $0) }
      #expect(await handler.next().contains(.read))
      try await loop.run { loop.cancel(registration) }
      _ = try [UInt8(1)].withUnsafeBytes { try System.send(right, $0) }
      try await loop.run { loop.cancel(registration) }  // twice is harmless
      #expect(handler.count == 1)
    }
  }

  /// A handler that cancels another registration and reuses its descriptor number within one batch of events must not
  /// make the old event reach the new owner.
  @Test func eventOfACancelledRegistrationIsDropped() async throws {
    try await withLoop { loop in
      let first = try System.socketPair()
      let second = try System.socketPair()
      defer { for descriptor in [first.0, first.1, second.0, second.1] { System.close(descriptor) } }
      let late = Recorder()
      try await loop.run {
        let killers = (Killer(loop), Killer(loop))
        killers.0.victim = try loop.register(second.0, for: .read, trigger: .level, killers.1)
        killers.1.victim = try loop.register(first.0, for: .read, trigger: .level, killers.0)
        killers.0.replace = { _ = try? loop.register(second.0, for: .write, trigger: .edge, late) }
        killers.1.replace = { _ = try? loop.register(first.0, for: .write, trigger: .edge, late) }
        _ = try [UInt8(1)].withUnsafeBytes { try System.send(first.1, $0) }
        _ = try [UInt8(1)].withUnsafeBytes { try System.send(second.1, $0) }
      }
      let readiness = await late.next()
      #expect(!readiness.contains(.read))
      #expect(readiness.contains(.write))
    }
  }

  @Test func workHandedOverBeforeStopIsDoneAndLaterJobsStillEnd() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    let ran = Atomic(0)
    for _ in 0..<100 { loop.execute { ran.add(1, ordering: .relaxed) } }
    group.stop()
    #expect(ran.load(ordering: .relaxed) == 100)
    let late = Task(executorPreference: loop) { 7 }
    #expect(await late.value == 7)
  }

  @Test func manyCrossThreadTasksAllRun() async throws {
    let group = try EventLoopGroup(count: 2)
    let total = try await withThrowingTaskGroup(of: Int.self) { tasks in
      for index in 0..<2_000 {
        tasks.addTask { try await group.loops[index % 2].run { 1 } }
      }
      return try await tasks.reduce(0, +)
    }
    group.stop()
    #expect(total == 2_000)
  }

  @Test func loopsCloseTheirDescriptors() throws {
    // The kernel hands out the lowest free number, so a leak would push this one up.
    let before = try System.socketPair()
    for descriptor in [before.0, before.1] { System.close(descriptor) }
    for _ in 0..<1_000 { try EventLoopGroup(count: 1).stop() }
    let after = try System.socketPair()
    for descriptor in [after.0, after.1] { System.close(descriptor) }
    // Other tests run beside this one, and open fewer than a leak of one a loop would leave.
    #expect(after.0 < before.0 + 500)
  }
}

/// Starts a loop for one test and ends it afterwards.
func withLoop<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
  let group = try EventLoopGroup(count: 1)
  defer { group.stop() }
  return try await body(group.loops[0])
}

/// Remembers readiness and wakes whoever waits for it.
final class Recorder: ReadinessHandler, Sendable {
  private let stream: AsyncStream<Readiness>
  private let continuation: AsyncStream<Readiness>.Continuation
  private let seen = Atomic(0)

  init() { (stream, continuation) = AsyncStream.makeStream() }

  var count: Int { seen.load(ordering: .relaxed) }

  func ready(_ readiness: Readiness) {
    seen.add(1, ordering: .relaxed)
    continuation.yield(readiness)
  }

  func next() async -> Readiness {
    for await readiness in stream { return readiness }
    return []
  }
}

/// Cancels its victim's registration when its own descriptor is ready.
private final class Killer: ReadinessHandler, @unchecked Sendable {  // used on one loop only
  let loop: EventLoop
  var victim: Registration?
  var replace: (() -> Void)?

  init(_ loop: EventLoop) { self.loop = loop }

  func ready(_ readiness: Readiness) {
    guard let victim else { return }
    self.victim = nil
    loop.cancel(victim)
    replace?()
    replace = nil
  }
}
