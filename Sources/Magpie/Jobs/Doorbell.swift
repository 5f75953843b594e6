import EventLoop
import Synchronization

/// Lets one task sleep on its loop until it is needed, or for a certain time. A ring that comes while it is awake is kept.
final class Doorbell: Sendable {
  private struct State {
    var isRung = false
    var sleeper: CheckedContinuation<Bool, Never>?
    var sleep = 0
  }

  private let state = Mutex(State())

  /// From any thread.
  func ring() {
    let sleeper = state.withLock { state in
      guard let sleeper = state.sleeper else {
        state.isRung = true
        return nil as CheckedContinuation<Bool, Never>?
      }
      state.sleeper = nil
      return sleeper
    }
    sleeper?.resume(returning: true)
  }

  /// To be called by one task at a time, on a loop.
  ///
  /// - Returns: whether it rang; otherwise the time has passed.
  @discardableResult
  func wait(upTo delay: Duration) async -> Bool {
    guard let loop = EventLoop.current else { return true }
    var timer: TimerID?
    let rung = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
      let sleep = state.withLock { state -> Int? in
        if state.isRung {
          state.isRung = false
          return nil
        }
        state.sleeper = continuation
        state.sleep += 1
        return state.sleep
      }
      guard let sleep else { return continuation.resume(returning: true) }
      timer = loop.schedule(after: delay) { [self] in timeOut(sleep) }
    }
    if let timer { loop.cancel(timer) }
    return rung
  }

  private func timeOut(_ sleep: Int) {
    let sleeper = state.withLock { state in
      defer { if state.sleep == sleep { state.sleeper = nil } }
      return state.sleep == sleep ? state.sleeper : nil
    }
    sleeper?.resume(returning: false)
  }
}
