import EventLoop

/// Holds requests back until they are let go, so that a test can stop a walk at a page without sleeping.
final class Gates: Sendable {
  private struct Gate {
    let id: Int
    let pattern: PathPattern
    /// Requests it still holds back; `nil`: all.
    var left: Int?
  }

  private struct Held {
    let gate: Int
    let path: String
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct Waiter {
    let count: Int
    let id: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var lastID = 0
    var gates: [Gate] = []
    var held: [Held] = []
    var waiters: [Waiter] = []
    var open = false
  }

  private let state = Lock(State())

  /// Closes a gate. Answers its number.
  func close(_ pattern: PathPattern, times: Int?) -> Int {
    state.withLock { state in
      state.lastID += 1
      if !state.open { state.gates.append(Gate(id: state.lastID, pattern: pattern, left: times)) }
      return state.lastID
    }
  }

  /// Waits here while a gate holds the request back. Returns at once for others.
  func pass(_ path: String, matches: (PathPattern) -> Bool) async {
    let gate: Int? = state.withLock { state in
      guard let index = state.gates.firstIndex(where: { matches($0.pattern) }) else { return nil }
      let id = state.gates[index].id
      if let left = state.gates[index].left {
        if left <= 1 { state.gates.remove(at: index) } else { state.gates[index].left = left - 1 }
      }
      return id
    }
    guard let gate else { return }
    await withCheckedContinuation { continuation in
      let (passes, due) = state.withLock { state -> (Bool, [Waiter]) in
        if state.open { return (true, []) }
        state.held.append(Held(gate: gate, path: path, continuation: continuation))
        return (false, Gates.takeDue(&state))
      }
      if passes { continuation.resume() }
      for waiter in due { waiter.continuation.resume(returning: true) }
    }
  }

  /// Opens one gate, or all, and lets go what they hold. Answers how many requests that were.
  @discardableResult
  func release(_ gate: Int? = nil) -> Int {
    let free = state.withLock { state in
      state.gates.removeAll { gate == nil || $0.id == gate }
      let free = state.held.filter { gate == nil || $0.gate == gate }
      state.held.removeAll { gate == nil || $0.gate == gate }
      return free
    }
    for held in free { held.continuation.resume() }
    return free.count
  }

  /// Lets the request go that has waited longest; its gate stays closed. `false` when none waits.
  func releaseOne() -> Bool {
    let first = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
    first?.continuation.resume()
    return first != nil
  }

  /// Targets of the requests held back now, the longest waiting first.
  var held: [String] { state.withLock { $0.held.map(\.path) } }

  /// Waits until that many requests are held at once. `false` when given up before, by `giveUp` or the end.
  func waitUntilHeld(_ count: Int, register: (Int) -> Void = { _ in }) async -> Bool {
    await withCheckedContinuation { continuation in
      let (id, answer) = state.withLock { state -> (Int, Bool?) in
        state.lastID += 1
        if state.held.count >= count { return (state.lastID, true) }
        if state.open { return (state.lastID, false) }
        state.waiters.append(Waiter(count: count, id: state.lastID, continuation: continuation))
        return (state.lastID, nil)
      }
      if let answer { continuation.resume(returning: answer) } else { register(id) }
    }
  }

  /// Ends one wait.
  func giveUp(_ id: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume(returning: false)
  }

  /// Lets everything go and holds nothing any more.
  func end() {
    let waiters = state.withLock { state in
      state.open = true
      defer { state.waiters = [] }
      return state.waiters
    }
    release()
    for waiter in waiters { waiter.continuation.resume(returning: false) }
  }

  private static func takeDue(_ state: inout State) -> [Waiter] {
    let count = state.held.count
    let due = state.waiters.filter { $0.count <= count }
    state.waiters.removeAll { $0.count <= count }
    return due
  }
}
