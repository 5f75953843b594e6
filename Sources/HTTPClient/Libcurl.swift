import CLibcurl

/// The one global start of libcurl, which must come before everything else of it and only once.
enum Libcurl {
  /// `false` when it failed; there is no client then.
  static let isInitialized: Bool = curl_global_init(clibcurl_global_default()) == CURLE_OK
}

/// One `CURL` handle. Owned by a transfer, used on the loop's thread only.
struct EasyHandle {
  let pointer: UnsafeMutableRawPointer

  init() throws(HTTPClient.Failure) {
    guard let pointer = curl_easy_init() else { throw .other(code: Int32(CURLE_OUT_OF_MEMORY.rawValue)) }
    self.pointer = pointer
  }

  func set(_ option: CURLoption, _ value: Int) throws(HTTPClient.Failure) {
    try EasyHandle.check(clibcurl_set_long(pointer, option, value))
  }

  func set(_ option: CURLoption, large value: Int) throws(HTTPClient.Failure) {
    try EasyHandle.check(clibcurl_set_offset(pointer, option, curl_off_t(value)))
  }

  func set(_ option: CURLoption, _ value: String) throws(HTTPClient.Failure) {
    try EasyHandle.check(clibcurl_set_text(pointer, option, value))
  }

  /// The pointer must stay valid as long as the handle, except for what libcurl copies.
  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(HTTPClient.Failure) {
    try EasyHandle.check(clibcurl_set_pointer(pointer, option, value))
  }

  /// Milliseconds, at least 1, since libcurl reads 0 as "no limit".
  func set(_ option: CURLoption, milliseconds nanoseconds: UInt64) throws(HTTPClient.Failure) {
    try set(option, Int(clamping: min(max(1, nanoseconds / 1_000_000), UInt64(Int32.max))))
  }

  static func check(_ code: CURLcode) throws(HTTPClient.Failure) {
    if code != CURLE_OK { throw .other(code: Int32(bitPattern: code.rawValue)) }
  }

  func cleanUp() { curl_easy_cleanup(pointer) }
}
