import CLibpq
import EventLoop

/// One attempt to connect, without blocking: `PQconnectStart`, `PQconnectPoll` whenever the socket is ready, then the
/// session's settings; all within one deadline.
///
/// libpq would block for its name lookups, so names are looked up before, elsewhere, and libpq is given addresses.
///
/// `@unchecked Sendable`: used on the loop's thread only.
final class Connector: ReadinessHandler, @unchecked Sendable {
  private enum Step {
    case connecting, settingUp, done
  }

  private let loop: EventLoop
  private let setup: String
  private let resolver: NameResolver
  private let completion: (Result<OpaquePointer, PostgresError>) -> Void
  private var lookup: HostLookup?
  private var connection: OpaquePointer?
  private var registration: Registration?
  private var timer: TimerID?
  private var step = Step.connecting
  private var failure: PostgresError?

  /// `completion` is called once, on the loop, later; it owns the connection then. Not after `cancel`.
  init(
    loop: EventLoop, setup: String, resolver: NameResolver = .system,
    completion: @escaping (Result<OpaquePointer, PostgresError>) -> Void
  ) {
    self.loop = loop
    self.setup = setup
    self.resolver = resolver
    self.completion = completion
  }

  func start(_ parameters: ConnectionParameters, attempt: Int, timeout: Duration) {
    loop.preconditionCurrent()
    // Weak: a cancelled timer keeps what it holds until its time would have come.
    timer = loop.schedule(after: timeout) { [weak self] in
      self?.timer = nil
      self?.finish(.failure(PostgresError(.unavailable, "connecting took longer than \(timeout)")))
    }
    let names = parameters.hostNames
    if names.isEmpty { return connect(parameters, attempt: attempt, addresses: [:]) }
    // Half of the time is left for connecting, should one of several hosts have no answering name server.
    let hasHostWithoutName = parameters.hasHostWithoutName
    lookup = HostLookup(
      names, by: resolver, on: loop, patience: timeout / 2, mayFindNothing: hasHostWithoutName
    ) { [weak self] addresses in
      guard let self, step == .connecting else { return }
      lookup = nil
      if addresses.isEmpty, !hasHostWithoutName {
        finish(
          .failure(PostgresError(.unavailable, "no address is known for \(names.sorted().joined(separator: ", "))")))
      } else {
        connect(parameters, attempt: attempt, addresses: addresses)
      }
    }
  }

  private func connect(_ parameters: ConnectionParameters, attempt: Int, addresses: [String: [String]]) {
    connection = parameters.withArrays(attempt: attempt, addresses: addresses) { PQconnectStartParams($0, $1, 0) }
    guard let connection, PQstatus(connection) != CONNECTION_BAD else {
      // Later, as promised, so that callers never see their callback inside of `start`.
      let error = PostgresError(.unavailable, connection: connection)
      loop.execute { [self] in finish(.failure(error)) }
      return
    }
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    wait(for: .write)
  }

  func cancel() {
    guard step != .done else { return }
    release()
    if let connection { PQfinish(connection) }
    connection = nil
  }

  func ready(_ readiness: Readiness) {
    guard let connection else { return }
    switch step {
    case .connecting: poll(connection)
    case .settingUp: receive(connection)
    case .done: break
    }
  }

  private func poll(_ connection: OpaquePointer) {
    // The socket may be closed and replaced inside of the call (next host, another protocol), and its number reused.
    stopWatching()
    switch PQconnectPoll(connection) {
    case PGRES_POLLING_READING: wait(for: .read)
    case PGRES_POLLING_WRITING: wait(for: .write)
    case PGRES_POLLING_OK: sendSetup(connection)
    default: finish(.failure(PostgresError(.unavailable, connection: connection)))
    }
  }

  private func sendSetup(_ connection: OpaquePointer) {
    step = .settingUp
    guard PQsetnonblocking(connection, 1) == 0, PQsendQuery(connection, setup) == 1 else {
      return finish(.failure(PostgresError(.unavailable, connection: connection)))
    }
    wait(for: PQflush(connection) == 1 ? [.read, .write] : .read)
  }

  private func receive(_ connection: OpaquePointer) {
    guard PQconsumeInput(connection) == 1 else {
      return finish(.failure(failure ?? PostgresError(.unavailable, connection: connection)))
    }
    if PQflush(connection) == 0, let registration { loop.modify(registration, for: .read, trigger: .level) }
    while PQisBusy(connection) == 0 {
      guard let result = PQgetResult(connection) else {
        return finish(failure.map { .failure($0) } ?? .success(connection))
      }
      if PQresultStatus(result) != PGRES_COMMAND_OK, failure == nil {
        let error = PostgresError(result: result, sql: nil, origin: nil)
        failure = PostgresError(
          PostgresError.Details(
            kind: .unavailable, sqlState: error.sqlState, message: "setting up the session: \(error.message)"))
      }
      PQclear(result)
    }
  }

  private func wait(for readiness: Readiness) {
    guard let connection else { return }
    if let registration { loop.cancel(registration) }
    do throws(SystemError) {
      registration = try loop.register(PQsocket(connection), for: readiness, trigger: .level, self)
    } catch {
      registration = nil
      finish(.failure(PostgresError(.unavailable, "\(error)")))
    }
  }

  private func stopWatching() {
    if let registration { loop.cancel(registration) }
    registration = nil
  }

  private func release() {
    stopWatching()
    lookup?.cancel()
    lookup = nil
    if let timer { loop.cancel(timer) }
    timer = nil
    step = .done
  }

  private func finish(_ result: Result<OpaquePointer, PostgresError>) {
    guard step != .done else { return }
    release()
    if case .failure = result, let connection { PQfinish(connection) }
    connection = nil
    completion(result)
  }
}
