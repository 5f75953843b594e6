import CLibcurl
import EventLoop
import HTTP

/// Everything libcurl must and must not do for a transfer.
extension Transfer {
  func confine(_ easy: EasyHandle, _ configuration: HTTPClient.Configuration) throws(HTTPClient.Failure) {
    try easy.set(CURLOPT_PROTOCOLS_STR, scheme.rawValue)
    try easy.set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
    try easy.set(CURLOPT_FOLLOWLOCATION, 0)
    try easy.set(CURLOPT_PROXY, "")  // else the environment's proxies are obeyed
    try easy.set(CURLOPT_NETRC, 0)
    try easy.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    try easy.set(CURLOPT_HTTP09_ALLOWED, 0)
    try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
    try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
    try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    if let file = configuration.certificateAuthorities { try easy.set(CURLOPT_CAINFO, file) }
    try easy.set(CURLOPT_NOSIGNAL, 1)
    // Without it, giving up during a name look-up blocks the loop until the resolver's thread comes back.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
    try easy.set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
    try easy.set(CURLOPT_MAXLIFETIME_CONN, configuration.connectionLifetimeSeconds)
    try easy.set(CURLOPT_BUFFERSIZE, 64 * 1024)  // four times the default: fewer system calls for a page of a list
  }

  func limit(
    _ easy: EasyHandle, _ configuration: HTTPClient.Configuration, remaining: UInt64
  ) throws(HTTPClient.Failure) {
    try easy.set(CURLOPT_TIMEOUT_MS, milliseconds: remaining)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: min(remaining, request.connectTimeout.wholeNanoseconds))
    // Only refuses what is announced as too large, even where no body follows; `write` counts.
    if request.method != .head { try easy.set(CURLOPT_MAXFILESIZE_LARGE, large: request.maxBytes) }
    // Set once the answer begins: libcurl counts waiting for it as flowing slowly, and upstreams may think for long.
    lowSpeed = (configuration.lowSpeedBytes, configuration.lowSpeedSeconds)
  }

  func describeRequest(_ easy: EasyHandle, userAgent: String) throws(HTTPClient.Failure) {
    if request.method == .head {
      try easy.set(CURLOPT_NOBODY, 1)
    } else if request.body != nil || request.method.announcesBody {
      let body = request.body ?? []
      try easy.set(CURLOPT_POST, 1)
      try easy.set(CURLOPT_POSTFIELDSIZE_LARGE, large: body.count)
      let code = body.withUnsafeBytes { bytes in
        clibcurl_set_pointer(
          easy.pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      }
      try EasyHandle.check(code)
      if body.isEmpty { try easy.set(CURLOPT_COPYPOSTFIELDS, "") }
      try easy.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    } else {
      try easy.set(CURLOPT_HTTPGET, 1)
      try easy.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }
    for line in request.headerLines(userAgent: userAgent) {
      guard let longer = curl_slist_append(lines, line) else { throw .other(code: Int32(CURLE_OUT_OF_MEMORY.rawValue)) }
      lines = longer
    }
    try EasyHandle.check(clibcurl_set_list(easy.pointer, CURLOPT_HTTPHEADER, lines))
  }

  func connectCallbacks(_ easy: EasyHandle, owner: Transfers) throws(HTTPClient.Failure) {
    let me = Unmanaged.passUnretained(self).toOpaque()
    try easy.set(CURLOPT_PRIVATE, pointer: me)
    try easy.set(CURLOPT_WRITEDATA, pointer: me)
    try easy.set(CURLOPT_HEADERDATA, pointer: me)
    try easy.set(CURLOPT_OPENSOCKETDATA, pointer: me)
    // A connection outlives the transfer it was made for, so its end is told to the owner.
    try easy.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(owner).toOpaque())
    try EasyHandle.check(
      clibcurl_set_data_callback(easy.pointer, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        Transfer.from(context)?.write(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
      })
    try EasyHandle.check(
      clibcurl_set_data_callback(easy.pointer, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        Transfer.from(context)?.header(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
      })
    try EasyHandle.check(
      clibcurl_set_opensocket(easy.pointer) { context, _, address in
        guard let address, let transfer = Transfer.from(context) else { return clibcurl_socket_bad() }
        return transfer.openSocket(address)
      })
    try EasyHandle.check(
      clibcurl_set_closesocket(easy.pointer) { context, socket in
        if let context { Unmanaged<Transfers>.fromOpaque(context).takeUnretainedValue().forget(socket) }
        System.close(socket)
        return 0
      })
  }
}
