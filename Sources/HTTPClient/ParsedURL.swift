import CLibcurl

/// A URL in libcurl's own form. The same object is looked at and connected to, so there is no second parser to disagree.
///
/// Not `Sendable`: made and used on one thread.
final class ParsedURL {
  /// Owned; valid as long as this object.
  let handle: OpaquePointer

  /// - Throws: `invalidRequest` for what is not an absolute URL, has control characters, names a user or is too long.
  init(_ text: String) throws(HTTPClient.Failure) {
    guard text.utf8.count <= HTTPClient.Request.maxURLBytes, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
      let handle = curl_url()
    else { throw .invalidRequest }
    let flags = UInt32(CURLU_URLENCODE) | UInt32(CURLU_DISALLOW_USER) | UInt32(CURLU_NON_SUPPORT_SCHEME)
    guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else {
      curl_url_cleanup(handle)
      throw .invalidRequest
    }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// - Throws: `refusedProtocol` for any scheme but `http` and `https`.
  func origin() throws(HTTPClient.Failure) -> HTTPClient.Origin {
    guard let scheme = part(CURLUPART_SCHEME).flatMap({ HTTPClient.Origin.Scheme(rawValue: $0) }) else {
      throw .refusedProtocol
    }
    guard let host = part(CURLUPART_HOST), !host.isEmpty,
      let port = part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) })
    else { throw .invalidRequest }
    return HTTPClient.Origin(scheme: scheme, host: ParsedURL.lowercase(host), port: port)
  }

  private func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  /// ASCII only: Unicode's lower case maps other characters onto ASCII ones.
  private static func lowercase(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
