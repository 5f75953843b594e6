import CLibcurl
import EventLoop

/// All transfers of a client: libcurl's multi handle, driven by the loop's sockets and timers.
///
/// `@unchecked Sendable`: everything here is used on the loop's thread only. The loop holds no reference to it; libcurl's
/// unretained ones end with the multi handle, in `stop` or, when the loop has ended before, in `deinit`.
final class Transfers: @unchecked Sendable {
  private let loop: EventLoop
  private let configuration: HTTPClient.Configuration
  private var multi: UnsafeMutableRawPointer?
  private var running: [UInt64: Transfer] = [:]
  /// In the order they came.
  private var waiting: [Transfer] = []
  private var watches: [curl_socket_t: Watch] = [:]
  private var timer: TimerID?
  private var lastTicket: UInt64 = 0

  init(loop: EventLoop, configuration: HTTPClient.Configuration) {
    precondition(Libcurl.isInitialized, "libcurl cannot be initialized")
    self.loop = loop
    self.configuration = configuration
    // libcurl gives none only when it has no memory for a few hundred bytes, at start: nothing could go on without it.
    guard let multi = curl_multi_init() else { preconditionFailure("out of memory") }
    self.multi = multi
    let me = Unmanaged.passUnretained(self).toOpaque()
    _ = clibcurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxIdleConnections)
    _ = clibcurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max(1, configuration.maxTransfers))
    _ = clibcurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, me)
    _ = clibcurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, me)
    _ = clibcurl_multi_set_socket(multi) { _, socket, what, context, _ in
      if let context { Transfers.from(context).watch(socket, for: what) }
      return 0
    }
    _ = clibcurl_multi_set_timer(multi) { _, milliseconds, context in
      if let context { Transfers.from(context).setTimer(milliseconds) }
      return 0
    }
  }

  deinit {
    // Without `stop` the loop has ended: its registrations and timers are gone with it, so it must not be told.
    guard let multi else { return }
    watches = [:]
    _ = clibcurl_multi_set_socket(multi, nil)
    _ = clibcurl_multi_set_timer(multi, nil)
    curl_multi_cleanup(multi)
  }

  private static func from(_ context: UnsafeMutableRawPointer) -> Transfers {
    Unmanaged<Transfers>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: Starting and ending

  /// Names a transfer to come.
  func nextTicket() -> UInt64 {
    lastTicket += 1
    return lastTicket
  }

  /// Sends the request now or when others have ended. `completion` is called once, in any case.
  func start(_ request: HTTPClient.Request, ticket: UInt64, completion: @escaping Transfer.Completion) {
    loop.preconditionCurrent()
    guard multi != nil else { return completion(.failure(HTTPClient.Failure.stopped)) }
    let transfer: Transfer
    do throws(HTTPClient.Failure) {
      let deadline = System.monotonicNanoseconds() &+ request.timeout.wholeNanoseconds
      transfer = try Transfer(
        request, ticket: ticket, deadline: deadline, configuration: configuration, completion: completion)
    } catch {
      return completion(.failure(error))
    }
    if running.count < max(1, configuration.maxTransfers) {
      begin(transfer)
    } else if waiting.count < configuration.maxQueued {
      transfer.queueTimer = loop.schedule(at: transfer.deadline) { [unowned self] in
        self.leaveQueue(ticket)?.complete(.failure(HTTPClient.Failure.timedOut))
      }
      waiting.append(transfer)
    } else {
      transfer.complete(.failure(HTTPClient.Failure.overloaded))
    }
  }

  /// Gives up on a transfer; one that has ended or never was is nobody's.
  func cancel(_ ticket: UInt64) {
    loop.preconditionCurrent()
    guard let transfer = leaveQueue(ticket) ?? leaveNetwork(ticket) else { return }
    transfer.complete(.failure(CancellationError()))
    beginWaiting()
  }

  /// Ends everything. Later starts are refused.
  func stop() {
    loop.preconditionCurrent()
    guard let multi else { return }
    let left = waiting + running.values
    for transfer in left {
      _ = leaveQueue(transfer.ticket) ?? leaveNetwork(transfer.ticket)
    }
    self.multi = nil
    curl_multi_cleanup(multi)
    if let timer { loop.cancel(timer) }
    timer = nil
    for socket in watches.keys { forget(socket) }
    for transfer in left { transfer.complete(.failure(HTTPClient.Failure.stopped)) }
  }

  private func begin(_ transfer: Transfer) {
    guard let multi else { return transfer.complete(.failure(HTTPClient.Failure.stopped)) }
    do throws(HTTPClient.Failure) {
      try transfer.open(configuration, owner: self, now: System.monotonicNanoseconds())
    } catch {
      return transfer.complete(.failure(error))
    }
    guard let easy = transfer.easy, curl_multi_add_handle(multi, easy.pointer) == CURLM_OK else {
      return transfer.complete(.failure(HTTPClient.Failure.other(code: Int32(CURLE_FAILED_INIT.rawValue))))
    }
    running[transfer.ticket] = transfer
  }

  private func beginWaiting() {
    while running.count < max(1, configuration.maxTransfers), let next = waiting.first {
      _ = leaveQueue(next.ticket)
      begin(next)
    }
  }

  private func leaveQueue(_ ticket: UInt64) -> Transfer? {
    guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
    let transfer = waiting.remove(at: index)
    if let timer = transfer.queueTimer { loop.cancel(timer) }
    return transfer
  }

  private func leaveNetwork(_ ticket: UInt64) -> Transfer? {
    guard let multi, let transfer = running.removeValue(forKey: ticket) else { return nil }
    if let easy = transfer.easy { curl_multi_remove_handle(multi, easy.pointer) }
    return transfer
  }

  // MARK: Driving libcurl

  /// Lets libcurl read and write, or look at its clock, and tells the senders of what has ended.
  func act(_ socket: curl_socket_t, _ flags: Int32) {
    guard let multi else { return }
    var stillRunning: Int32 = 0
    curl_multi_socket_action(multi, socket, flags, &stillRunning)
    var messages: Int32 = 0
    while let message = curl_multi_info_read(multi, &messages) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      let code = clibcurl_result(message)
      var context: UnsafeMutableRawPointer?
      _ = clibcurl_get_pointer(message.pointee.easy_handle, CURLINFO_PRIVATE, &context)
      // The message ends with its handle's removal: nothing of it is used below.
      guard let transfer = Transfer.from(context) else { continue }
      let result = transfer.result(code)
      _ = leaveNetwork(transfer.ticket)
      transfer.close()
      transfer.complete(result)
    }
    beginWaiting()
  }

  private func watch(_ socket: curl_socket_t, for what: Int32) {
    if what == CURL_POLL_REMOVE { return forget(socket) }
    var readiness: Readiness = []
    if what & CURL_POLL_IN != 0 { readiness.insert(.read) }
    if what & CURL_POLL_OUT != 0 { readiness.insert(.write) }
    if let registration = watches[socket]?.registration {
      return loop.modify(registration, for: readiness, trigger: .level)
    }
    // A socket that cannot be watched (no memory in the kernel) ends by its transfer's timeout.
    let watch = Watch(socket, of: self)
    guard let registration = try? loop.register(socket, for: readiness, trigger: .level, watch) else { return }
    watch.registration = registration
    watches[socket] = watch
  }

  /// Stops watching a socket, which is about to be closed or to rest in the pool.
  func forget(_ socket: curl_socket_t) {
    guard let registration = watches.removeValue(forKey: socket)?.registration else { return }
    loop.cancel(registration)
  }

  private func setTimer(_ milliseconds: Int) {
    if let timer { loop.cancel(timer) }
    timer = nil
    guard milliseconds >= 0 else { return }
    timer = loop.schedule(after: .milliseconds(milliseconds)) { [unowned self] in
      self.timer = nil
      self.act(clibcurl_socket_timeout(), 0)
    }
  }
}
