import EventLoop
import Postgres

extension Worker {
  /// From the handler's start until the database knows how it ended.
  func run(_ job: RunningJob) async {
    let result: Result<JobResult, any Error>
    if let handler = handlers[job.kind] {
      do {
        result = .success(try await handler.run(job))
      } catch {
        result = .failure(error)
      }
    } else {
      // Newer processes may know the kind; it waits for them.
      result = .success(.snooze(.seconds(5)))
    }
    if isStopped { return }
    switch Verdict(result, for: job) {
    case .lost:
      count { $0.lost += 1 }
      forget(job.runToken)
    case .completed where job.isCompleted:
      report(CompletedRun(id: job.id, token: job.runToken), .completed)
    case .completed:
      state.withLock { $0.runs[job.runToken]?.isWorking = false }
      completions.add(CompletedRun(id: job.id, token: job.runToken))
      bell.ring()
    case .ended(let how, let error, let delay):
      await end(job, how, error, after: delay)
    }
  }

  /// What a handler's end means for the queue.
  enum Verdict: Equatable {
    case completed
    case lost
    /// The verb of `magpie.end_run`, the error to be kept, and a delay instead of the usual one.
    case ended(String, error: String? = nil, after: Duration? = nil)

    init(_ result: Result<JobResult, any Error>, for job: RunningJob) {
      self.init(result, stopped: job.stopReason, isCompleted: job.isCompleted)
    }

    /// - Parameter isCompleted: whether the run has ended in a transaction of its own. A beat that looks just after that misses
    ///   it and takes it for lost.
    init(_ result: Result<JobResult, any Error>, stopped: RunningJob.StopReason?, isCompleted: Bool = false) {
      if isCompleted, case .success(.done) = result {
        self = .completed
        return
      }
      if stopped == .lost {
        self = .lost
        return
      }
      switch result {
      case .success(.done): self = .completed
      case .success(.retry(let delay, let error)): self = .ended("retry", error: error, after: delay)
      case .success(.snooze(let delay)): self = .ended("snooze", after: delay)
      case .success(.yield): self = .ended("yield")
      case .success(.discard(let error)): self = .ended("discard", error: error)
      case .failure(JobError.lostRun): self = .lost
      case .failure(JobError.cancelled): self = .ended("cancel")
      case .failure(let error):
        if stopped == .timedOut {
          self = .ended("retry", error: JobError.timedOut.description)
        } else if stopped == .draining, error is CancellationError {
          self = .ended("yield")
        } else if let error = error as? PostgresError, error.kind == .connectionLost || error.kind == .unavailable {
          // The database is coming back and the job is not to blame.
          self = .ended("retry", error: error.description, after: .milliseconds(Int.random(in: 500...1_500)))
        } else {
          self = .ended("retry", error: "\(error)")
        }
      }
    }
  }

  /// Tells the database, however long it takes, unless the run is lost meanwhile.
  private func end(_ job: RunningJob, _ how: String, _ error: String?, after delay: Duration?) async {
    let query: Query = """
      SELECT magpie.end_run(\(job.id), \(job.runToken), \(how), \(error), make_interval(secs => \(delay?.inSeconds)))
      """
    var pause = Duration.milliseconds(100)
    while !isStopped, job.stopReason != .lost {
      do {
        let outcome = try await database.retrying(query).first?.decode(String.self) ?? "lost"
        count { metrics in
          switch outcome {
          case "retry": metrics.retried += 1
          case "snooze", "yield": metrics.snoozed += 1
          case "discarded": metrics.discarded += 1
          case "cancelled": metrics.cancelled += 1
          case "completed": metrics.completed += 1
          case "lost": metrics.lost += 1
          default: break
          }
        }
        endings.send(String(job.id))
        break
      } catch {
        count { $0.databaseErrors += 1 }
        await Doorbell().wait(upTo: pause * Double.random(in: 0.5...1.5))
        pause = min(pause * 2, .seconds(2))
      }
    }
    forget(job.runToken)
  }

  /// The database's word on a run whose work was done.
  func report(_ run: CompletedRun, _ outcome: CompletedRun.Outcome?) {
    count { metrics in
      if outcome == nil { metrics.lost += 1 } else { metrics.completed += 1 }
    }
    if outcome != nil { endings.send(String(run.id)) }
    forget(run.token)
  }

  func forget(_ token: UUID) {
    state.withLock { state in
      state.runs[token] = nil
      if state.working == 0 { state.busySince = nil }
    }
    bell.ring()
  }

  /// Cuts off the runs that went on for too long without a checkpoint. Handlers that ignore it keep their slot, and others
  /// take over their jobs.
  func cutOffOverdueRuns() {
    let now = System.monotonicNanoseconds()
    let overdue = state.withLock { state in
      state.runs.values.filter { $0.isWorking && $0.job.stopReason == nil && $0.job.isOverdue(at: now) }
    }
    for run in overdue {
      count { $0.timedOut += 1 }
      run.job.stop(.timedOut)
      run.task?.cancel()
    }
  }

  func lose(_ tokens: [UUID]) {
    let runs = state.withLock { state in tokens.compactMap { state.runs[$0] } }
    // Those on their way out are settled by whoever asks the database about them.
    for run in runs where run.isWorking {
      run.job.stop(.lost)
      run.task?.cancel()
    }
  }
}
