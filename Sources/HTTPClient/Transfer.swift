import CLibcurl
import EventLoop
import Glibc
import HTTP

/// One request on its way and what has come back of it.
///
/// Loop-bound: made, used and released on the loop's thread. libcurl gets unretained pointers to it, which are valid because
/// `Transfers` holds it until its handle is closed.
final class Transfer {
  typealias Completion = (Result<HTTPClient.Response, any Error>) -> Void

  let ticket: UInt64
  /// On the loop's clock.
  let deadline: UInt64
  let request: HTTPClient.Request
  private let url: ParsedURL
  let scheme: HTTPClient.Origin.Scheme
  private let access: HTTPClient.Configuration.Access
  private let completion: Completion

  /// Runs out while the transfer waits in the queue; from then on libcurl keeps the time.
  var queueTimer: TimerID?

  private(set) var easy: EasyHandle?
  var lines: UnsafeMutablePointer<curl_slist>?
  var lowSpeed = (bytes: 0, seconds: 0)

  private var head: AnswerHead
  private var body: [UInt8] = []
  private var tooLarge = false
  private var addressesTried = 0
  private var addressesRefused = 0

  /// Checks the request; nothing is sent yet.
  ///
  /// - Throws: what is wrong with the request or its address.
  init(
    _ request: HTTPClient.Request, ticket: UInt64, deadline: UInt64, configuration: HTTPClient.Configuration,
    completion: @escaping Completion
  ) throws(HTTPClient.Failure) {
    url = try ParsedURL(request.url)
    let origin = try url.origin()
    guard let access = configuration.access(to: origin) else {
      throw origin.scheme == .https ? .refusedOrigin : .refusedProtocol
    }
    try request.check()
    self.request = request
    self.ticket = ticket
    self.deadline = deadline
    self.access = access
    self.completion = completion
    scheme = origin.scheme
    head = AnswerHead(maxBytes: configuration.maxHeaderBytes)
  }

  deinit { close() }

  /// Makes the handle, with everything libcurl must and must not do.
  func open(_ configuration: HTTPClient.Configuration, owner: Transfers, now: UInt64) throws(HTTPClient.Failure) {
    let easy = try EasyHandle()
    self.easy = easy
    try EasyHandle.check(clibcurl_set_url(easy.pointer, url.handle))
    try confine(easy, configuration)
    try limit(easy, configuration, remaining: deadline > now ? deadline - now : 0)
    try describeRequest(easy, userAgent: configuration.userAgent)
    try connectCallbacks(easy, owner: owner)
  }

  /// Releases the handle, which must have left the multi handle.
  func close() {
    easy?.cleanUp()
    easy = nil
    curl_slist_free_all(lines)
    lines = nil
  }

  /// Tells the sender; called once.
  func complete(_ result: Result<HTTPClient.Response, any Error>) { completion(result) }

  /// What the transfer came to, once libcurl says that it is done.
  func result(_ code: CURLcode) -> Result<HTTPClient.Response, any Error> {
    if tooLarge { return .failure(HTTPClient.Failure.tooLarge) }
    var status = 0
    guard code == CURLE_OK, let easy, clibcurl_get_long(easy.pointer, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK
    else {
      let allRefused = addressesRefused > 0 && addressesTried == 0
      return .failure(HTTPClient.Failure(code, addressesRefused: allRefused))
    }
    return .success(HTTPClient.Response(status: Status(status), fields: head.fields(), body: body))
  }

  // MARK: Callbacks

  /// The transfer behind a pointer that was given to libcurl.
  static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Any other count than the one handed over ends the transfer; libcurl never hands over an empty piece.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    if bytes.count > request.maxBytes - body.count {
      tooLarge = true
      return 0
    }
    if body.isEmpty { makeRoom() }
    body.append(contentsOf: bytes)
    return bytes.count
  }

  /// For what is announced, so that a page is not copied again and again while it comes; but no more than a megabyte on
  /// somebody's word.
  private func makeRoom() {
    var announced: curl_off_t = 0
    guard let easy,
      clibcurl_get_offset(easy.pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced) == CURLE_OK, announced > 0
    else { return }
    body.reserveCapacity(min(Int(clamping: announced), request.maxBytes, 1 << 20))
  }

  func header(_ line: UnsafeRawBufferPointer) -> Int {
    if lowSpeed.seconds > 0, let easy {
      _ = clibcurl_set_long(easy.pointer, CURLOPT_LOW_SPEED_LIMIT, lowSpeed.bytes)
      _ = clibcurl_set_long(easy.pointer, CURLOPT_LOW_SPEED_TIME, lowSpeed.seconds)
      lowSpeed.seconds = 0
    }
    if head.take(line) { return line.count }
    tooLarge = true
    return 0
  }

  /// The name is resolved by now: this is the address that will be connected to, whatever the name said before.
  func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    let value = address.pointee
    // The address is longer than the field it begins in, so it is looked at in place.
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return clibcurl_socket_bad() }
    let resolved = UnsafeRawPointer(address).advanced(by: offset).assumingMemoryBound(to: sockaddr.self)
    if access == .publicAddresses, !AddressRule.isPublic(resolved) {
      addressesRefused += 1
      return clibcurl_socket_bad()
    }
    addressesTried += 1
    return socket(value.family, value.socktype | Int32(SOCK_CLOEXEC.rawValue), value.protocol)
  }
}
