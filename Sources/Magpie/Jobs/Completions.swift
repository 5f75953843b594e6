import Postgres
import Synchronization

/// Takes finished runs out of the queue, as many at a time as have gathered while the last statement was under way.
final class Completions: Sendable {
  /// Runs in one statement.
  static let batch = 50

  /// What became of a run; `nil`: it was lost.
  typealias Report = @Sendable (CompletedRun, CompletedRun.Outcome?) -> Void

  private struct State {
    var waiting: [CompletedRun] = []
    var underway = 0
    var isStopped = false
  }
  private let database: Database
  private let bell = Doorbell()
  private let state = Mutex(State())

  init(database: Database) { self.database = database }

  /// Runs not known to be out yet.
  var backlog: Int { state.withLock { $0.waiting.count + $0.underway } }

  func add(_ run: CompletedRun) {
    state.withLock { $0.waiting.append(run) }
    bell.ring()
  }

  /// Ends `work`, whatever is left.
  func stop() {
    state.withLock { $0.isStopped = true }
    bell.ring()
  }

  /// Until `stop`. A run stays here until the database has answered for it, or it is known to be lost.
  func work(_ report: Report) async {
    var pause = Duration.milliseconds(100)
    while true {
      let (runs, isStopped) = state.withLock { state in
        let runs = Array(state.waiting.prefix(Completions.batch))
        state.waiting.removeFirst(runs.count)
        state.underway = runs.count
        return (runs, state.isStopped)
      }
      if isStopped { return }
      if runs.isEmpty {
        await bell.wait(upTo: .seconds(60))
        continue
      }
      var again: [CompletedRun] = []
      var delay: Duration?
      do {
        for (run, outcome) in try await complete(runs) {
          if outcome == .busy { again.append(run) } else { report(run, outcome) }
        }
        if !again.isEmpty { delay = .milliseconds(20) }
        pause = .milliseconds(100)
      } catch {
        // Whether they are out is unknown. Asking again is safe, since history knows their tokens.
        again = runs
        delay = pause * Double.random(in: 0.5...1.5)
        pause = min(pause * 2, .seconds(2))
      }
      state.withLock { state in
        state.waiting += again
        state.underway = 0
      }
      if let delay { await Doorbell().wait(upTo: delay) }
    }
  }

  private func complete(
    _ runs: [CompletedRun]
  ) async throws(PostgresError) -> [(run: CompletedRun, outcome: CompletedRun.Outcome?)] {
    if runs.count == 1, try await !database.query(runs[0].query).isEmpty { return [(runs[0], .completed)] }
    var outcomes: [Int64: CompletedRun.Outcome] = [:]
    for (id, outcome) in try await database.query(CompletedRun.query(runs)).decode((Int64, String).self) {
      outcomes[id] = CompletedRun.Outcome(rawValue: outcome)
    }
    let missing = runs.filter { outcomes[$0.id] == nil }
    if !missing.isEmpty {
      let done = try await database.query(
        """
        SELECT d.id FROM magpie.job_done d
        WHERE d.id = ANY (\(missing.map(\.id))) AND d.run_token = ANY (\(missing.map(\.token)))
        """)
      for id in try done.decode(Int64.self) { outcomes[id] = .completed }
    }
    return runs.map { ($0, outcomes[$0.id]) }
  }
}
