import CLinux
import Glibc

/// One thread that waits for sockets and timers and runs the tasks that prefer it.
///
/// A task made with `Task(executorPreference: loop)` and everything it awaits runs on the loop's thread (default actors,
/// `async let` and task group children too), so a handler can use loop-bound state without locks and without a single hop.
/// Unstructured `Task {}` inside leaves for the global pool: preference is not inherited by those.
///
/// `@unchecked Sendable`: all mutable state except `remote` belongs to the loop's thread. `register`, `schedule` and the
/// like check that they are called there; `execute` and `enqueue` may be called from anywhere and only touch `remote`.
public final class EventLoop: TaskExecutor, @unchecked Sendable {
  /// What other threads hand over, under the lock.
  private struct Remote {
    enum Work {
      case job(UnownedJob)
      case call(@Sendable () -> Void)
    }
    var work: [Work] = []
    var stopping = false
    /// The thread has left its loop: nothing handed over now would ever run there.
    var ended = false
  }

  private struct Slot {
    var generation: UInt32 = 0
    var descriptor: Int32 = -1
    var handler: (any ReadinessHandler)?
  }

  /// A name for logs and thread lists, such as `loop-0`.
  public let name: String

  private let poll: Int32
  private let wakeUp: Int32
  private let remote = Lock(Remote())

  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var timers = TimerHeap()
  private var jobs: [UnownedJob] = []

  /// Monotonic nanoseconds, taken once a turn. Deadlines are measured against it.
  public private(set) var now: UInt64

  private static let wakeUpTag = UInt64.max
  /// Jobs run before sockets are looked at again, so that tasks feeding each other cannot starve them.
  static let jobsPerTurn = 4096

  /// - Throws: `SystemError` when the kernel has no descriptors left.
  public init(name: String = "loop") throws(SystemError) {
    self.name = name
    poll = try System.retry("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    wakeUp = try System.retry("eventfd") { eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)) }
    now = System.monotonicNanoseconds()
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: EventLoop.wakeUpTag))
    _ = try System.retry("epoll_ctl") { epoll_ctl(poll, EPOLL_CTL_ADD, wakeUp, &event) }
  }

  deinit {
    System.close(wakeUp)
    System.close(poll)
  }

  // MARK: Work

  /// Whether the caller is on this loop's thread.
  @inline(never)
  public var isCurrent: Bool { CurrentLoop.pointer() == Unmanaged.passUnretained(self).toOpaque() }

  /// The loop whose thread the caller is on.
  @inline(never)
  public static var current: EventLoop? {
    CurrentLoop.pointer().map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Ends the process when the caller is not on the loop's thread: going on would corrupt loop-bound state.
  @inline(__always)
  public func preconditionCurrent() { precondition(isCurrent, "must be called on the loop's thread") }

  /// Part of `TaskExecutor`; called by the runtime, from any thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      jobs.append(job)
    } else if !handOver(.job(job)) {
      // The loop has ended; the task must still be able to finish.
      globalConcurrentExecutor.enqueue(job)
    }
  }

  /// Runs `body` on the loop's thread, soon. From any thread. Dropped when the loop has ended.
  public func execute(_ body: @escaping @Sendable () -> Void) { _ = handOver(.call(body)) }

  private func handOver(_ work: Remote.Work) -> Bool {
    let (taken, wake) = remote.withLock { remote in
      if remote.ended { return (false, false) }
      let wake = remote.work.isEmpty
      remote.work.append(work)
      return (true, wake)
    }
    if wake { signal() }
    return taken
  }

  private func signal() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  // MARK: Descriptors

  /// Watches a descriptor until `cancel`. The handler is kept alive meanwhile.
  ///
  /// - Throws: `SystemError` from `epoll_ctl`.
  public func register(
    _ descriptor: Int32, for readiness: Readiness, trigger: Trigger, _ handler: any ReadinessHandler
  ) throws(SystemError) -> Registration {
    preconditionCurrent()
    let index: UInt32
    if let free = freeSlots.popLast() {
      index = free
    } else {
      index = UInt32(slots.count)
      slots.append(Slot())
    }
    let registration = Registration(slot: index, generation: slots[Int(index)].generation)
    var event = epoll_event(
      events: readiness.rawValue | trigger.bits, data: epoll_data_t(u64: registration.tag))
    if epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) < 0 {
      freeSlots.append(index)
      throw SystemError("epoll_ctl")
    }
    slots[Int(index)].descriptor = descriptor
    slots[Int(index)].handler = handler
    return registration
  }

  /// Changes what a descriptor is watched for. Also asks for an `edge` report of what is ready already.
  public func modify(_ registration: Registration, for readiness: Readiness, trigger: Trigger) {
    preconditionCurrent()
    guard let slot = live(registration) else { return }
    var event = epoll_event(
      events: readiness.rawValue | trigger.bits, data: epoll_data_t(u64: registration.tag))
    _ = epoll_ctl(poll, EPOLL_CTL_MOD, slots[slot].descriptor, &event)
  }

  /// Stops watching. Must come before the descriptor is closed, since its number is given out again at once.
  public func cancel(_ registration: Registration) {
    preconditionCurrent()
    guard let slot = live(registration) else { return }
    var event = epoll_event()
    _ = epoll_ctl(poll, EPOLL_CTL_DEL, slots[slot].descriptor, &event)
    slots[slot].handler = nil
    slots[slot].descriptor = -1
    slots[slot].generation &+= 1
    freeSlots.append(registration.slot)
  }

  private func live(_ registration: Registration) -> Int? {
    let slot = Int(registration.slot)
    return slot < slots.count && slots[slot].generation == registration.generation && slots[slot].handler != nil
      ? slot : nil
  }

  // MARK: Timers

  /// Calls `body` on the loop's thread at or soon after a point of `now`'s clock.
  @discardableResult
  public func schedule(at deadline: UInt64, _ body: @escaping () -> Void) -> TimerID {
    preconditionCurrent()
    return timers.insert(deadline: deadline, body)
  }

  /// Calls `body` on the loop's thread when `delay` has passed.
  @discardableResult
  public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TimerID {
    schedule(at: System.monotonicNanoseconds() &+ delay.wholeNanoseconds, body)
  }

  /// Forgets a scheduled call.
  public func cancel(_ timer: TimerID) {
    preconditionCurrent()
    timers.cancel(timer)
  }

  // MARK: Running

  /// Runs on the calling thread until `stop`, then what was handed over until then, and returns.
  public func run() {
    CurrentLoop.set(Unmanaged.passUnretained(self).toOpaque())
    defer { CurrentLoop.set(nil) }
    let capacity = 512
    let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
    defer { events.deallocate() }
    while true {
      runJobs()
      // Here, where nothing can come between the look and the wait: jobs left over from the turn before may have been the last
      // reason to go on, and the signal of `stop` is not given twice.
      if stopWanted() { break }
      let timeout = jobs.isEmpty ? millisecondsToNextTimer() : 0
      let count = epoll_wait(poll, events, Int32(capacity), timeout)
      now = System.monotonicNanoseconds()
      for index in 0..<max(0, Int(count)) {
        dispatch(events[index])
        // At once, so that an answer is on its way while the next event is looked at.
        if !jobs.isEmpty { runJobs() }
      }
      while let due = timers.popDue(now) { due() }
    }
    finish()
  }

  /// Ends `run` after the present turn. From any thread.
  public func stop() {
    remote.withLock { $0.stopping = true }
    signal()
  }

  private func stopWanted() -> Bool { remote.withLock { $0.stopping && $0.work.isEmpty } && jobs.isEmpty }

  /// From here on nothing is taken any more; what came in between is run now.
  private func finish() {
    let late = remote.withLock { remote in
      remote.ended = true
      defer { remote.work = [] }
      return remote.work
    }
    for work in late { perform(work) }
    while !jobs.isEmpty { runJobs() }
    // Handlers and deadlines that are left would keep what they hold alive, perhaps this loop.
    for slot in slots.indices { slots[slot].handler = nil }
    timers = TimerHeap()
  }

  private func runJobs() {
    guard !jobs.isEmpty else { return }
    let executor = asUnownedTaskExecutor()
    var index = 0
    while index < jobs.count, index < EventLoop.jobsPerTurn {
      let job = jobs[index]  // running it may append more
      index += 1
      job.runSynchronously(on: executor)
    }
    if index == jobs.count { jobs.removeAll(keepingCapacity: true) } else { jobs.removeFirst(index) }
  }

  private func millisecondsToNextTimer() -> Int32 {
    guard let deadline = timers.nextDeadline else { return -1 }
    let present = System.monotonicNanoseconds()
    if deadline <= present { return 0 }
    return Int32(clamping: (deadline - present + 999_999) / 1_000_000)
  }

  private func dispatch(_ event: epoll_event) {
    let tag = event.data.u64
    if tag == EventLoop.wakeUpTag { return takeRemote() }
    let registration = Registration(slot: UInt32(truncatingIfNeeded: tag), generation: UInt32(tag >> 32))
    guard let slot = live(registration), let handler = slots[slot].handler else { return }
    handler.ready(Readiness(rawValue: event.events))
  }

  private func takeRemote() {
    var value: UInt64 = 0
    _ = read(wakeUp, &value, 8)
    let work = remote.withLock { remote in
      defer { remote.work = [] }
      return remote.work
    }
    for item in work { perform(item) }
  }

  private func perform(_ work: Remote.Work) {
    switch work {
    case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
    case .call(let body): body()
    }
  }
}

extension Duration {
  /// Whole nanoseconds; negative durations count as zero, very long ones are cut at 292 years.
  public var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds > 9_000_000_000 { return 9_000_000_000_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
