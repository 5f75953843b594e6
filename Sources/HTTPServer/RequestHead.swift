import HTTP

/// Where the parts of a request's head stand in its buffer: offsets, so that nothing is copied until somebody asks.
struct RequestHead {
  /// A part of the buffer. Heads are smaller than 64 KiB by their limits.
  struct Span {
    var start: UInt16 = 0
    var count: UInt16 = 0

    var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
  }

  struct FieldSpan {
    var name = Span()
    var value = Span()
  }

  enum Framing: Equatable {
    case none
    case length(Int)
    case chunked
  }

  static let maxFields = 100

  var method = Method.get
  /// Path and query; may be without the leading `/` when `impliesSlash`.
  var target = Span()
  /// The authority of a target in absolute form, which counts instead of `Host` (RFC 9112, 3.2.2).
  var authority: Span?
  /// `http://host` and `http://host?query` mean the path `/`.
  var impliesSlash = false
  var minorVersion: UInt8 = 1
  var fields = InlineArray<100, FieldSpan>(repeating: FieldSpan())
  var fieldCount = 0
  var host: Span?
  var requestID: Span?
  var framing = Framing.none
  var keepsAlive = true
  var expectsContinue = false
  var hasForeignExpectation = false
  var isCompressed = false
  /// Bytes up to and with the empty line, blank lines in front included.
  var length = 0

  /// Ready for another request; the field spans stay, since `fieldCount` says how many count.
  mutating func reset() {
    method = .get
    target = Span()
    authority = nil
    impliesSlash = false
    minorVersion = 1
    fieldCount = 0
    host = nil
    requestID = nil
    framing = .none
    keepsAlive = true
    expectsContinue = false
    hasForeignExpectation = false
    isCompressed = false
    length = 0
  }
}
