import HTTP

/// Time, budgets, faults, gates and the log.
extension Simulator {
  // MARK: Time

  /// Seconds since 1970 on the simulator's clock, which budgets go by.
  public var now: Int64 { engine.world.withLock { $0.clock.now } }

  /// Moves the clock; negative numbers move it back.
  public func advanceClock(by seconds: Int64) { engine.world.withLock { $0.clock.advance(seconds) } }

  /// Sets the clock, in seconds since 1970.
  public func setClock(to seconds: Int64) { engine.world.withLock { $0.clock.set(seconds) } }

  /// Lets the clock stand still, or run on.
  public func freezeClock(_ still: Bool = true) { engine.world.withLock { $0.clock.freeze(still) } }

  /// Milliseconds every answer takes from now on.
  public func setLatency(milliseconds: Int) { engine.world.withLock { $0.latencyMilliseconds = max(0, milliseconds) } }

  // MARK: Budgets

  /// Changes limits and the form of refusals. Windows that have begun keep their limit.
  public func setLimits(_ limits: Simulator.Configuration.Limits) {
    engine.world.withLock { world in
      world.limits = limits
      world.budgets.limits = limits
    }
  }

  /// Sets what the owner of a token (`nil`: those without) has left in the present window.
  ///
  /// - Parameter reset: when the window ends, in seconds since 1970; `nil` leaves it.
  public func setBudget(of owner: String?, remaining: Int, reset: Int64? = nil) {
    engine.world.withLock { world in
      let credential = owner.map { Credential.user($0) } ?? .anonymous
      world.budgets.set(credential, .core, remaining: remaining, reset: reset, now: world.clock.now)
    }
  }

  /// What the owner of a token (`nil`: those without) has left in the present window.
  public func remaining(of owner: String?) -> Int {
    engine.world.withLock { world in
      world.budgets.budget(owner.map { .user($0) } ?? .anonymous, .core, now: world.clock.now).remaining
    }
  }

  /// Makes a token good. Tokens of one owner share budgets.
  public func addToken(_ token: String, owner: String) { engine.world.withLock { $0.tokens.add(token, owner: owner) } }

  /// Makes a token bad: 401.
  public func revokeToken(_ token: String) { engine.world.withLock { $0.tokens.revoke(token) } }

  // MARK: Faults and gates

  /// Adds a fault behind those that are there; a request gets the first that is due. At most 1,000 are kept.
  public func add(_ fault: Fault) { engine.world.withLock { _ = $0.faults.add(fault) } }

  /// Forgets all faults.
  public func clearFaults() { engine.world.withLock { $0.faults.removeAll() } }

  /// Holds matching requests back until they are released. Answers the gate's number.
  ///
  /// - Parameter times: how many it holds; later ones pass. `nil`: all.
  @discardableResult
  public func hold(_ pattern: PathPattern, times: Int? = nil) -> Int { engine.gates.close(pattern, times: times) }

  /// Opens a gate, or all, and lets the held requests go. Answers how many those were.
  @discardableResult
  public func release(_ gate: Int? = nil) -> Int { engine.gates.release(gate) }

  /// Lets only the request go that has waited longest. `false` when none waits.
  @discardableResult
  public func releaseOne() -> Bool { engine.gates.releaseOne() }

  /// Targets of the requests held now.
  public var held: [String] { engine.gates.held }

  /// Returns once that many requests are held at the same time; `false` when the simulator stops before.
  @discardableResult
  public func waitUntilHeld(_ count: Int = 1) async -> Bool { await engine.gates.waitUntilHeld(count) }

  // MARK: Log

  /// Requests answered since the start or the last reset.
  public var requestCount: Int { engine.world.withLock { $0.traffic.total } }

  /// Requests in the log that match, with that status if one is given. The log holds the last 10,000, unless configured otherwise.
  public func count(_ pattern: PathPattern, status: Int? = nil) -> Int {
    log(pattern).count { status == nil || $0.status == status }
  }

  /// The log's entries that match, oldest first.
  public func log(_ pattern: PathPattern = "/**") -> [Simulator.LogEntry] {
    engine.world.withLock { $0.traffic.log(matching: pattern) }
  }

  /// Counts by method, route and status, such as `GET /users/{login} 200`; 0 stands for a broken connection.
  public var statistics: [String: Int] { engine.world.withLock { $0.traffic.counts } }

  /// Begins counting and logging anew.
  public func resetStatistics() { engine.world.withLock { $0.traffic.reset() } }
}
