import Glibc
import HTTP

/// Reads a request's head as it arrives (RFC 9112, 2 to 6), strictly: what is not in the grammar is refused, since two readers
/// who forgive differently are how requests are smuggled.
///
/// It works on the bytes so far and remembers where it was, so bytes that drip in are looked at once.
struct HeadParser {
  /// Sizes beyond which reading stops.
  struct Limits {
    /// Bytes before CRLF.
    var requestLine = 8192
    /// Bytes of one field line before CRLF.
    var field = 8192
    /// Bytes of all field lines with their CRLFs.
    var section = 32768
    /// Empty lines skipped before the request line (RFC 9112, 2.2).
    var emptyLines = 8
    /// Bytes of a method's name.
    var method = 32

    /// The most bytes a head within the limits can have.
    var head: Int { emptyLines * 2 + requestLine + 2 + section + 2 }
  }

  enum Outcome: Equatable {
    case needMore
    case complete
    case failed(HTTPError)
  }

  private enum Stage {
    case requestLine
    case fields
  }

  var head = RequestHead()
  private var stage = Stage.requestLine
  private var lineStart = 0
  private var scanned = 0
  private var sectionStart = 0
  private var framingFields = FramingFields()

  /// Whether only empty lines have come so far, so that no request has begun.
  private(set) var sawOnlyEmptyLines = true

  static let limits = Limits()

  mutating func reset() {
    head.reset()
    stage = .requestLine
    lineStart = 0
    scanned = 0
    sectionStart = 0
    framingFields = FramingFields()
    sawOnlyEmptyLines = true
  }

  /// Goes on with `bytes`, which begin where they began in the call before.
  mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    do throws(HTTPError) {
      while let lineFeed = HeadParser.lineFeed(in: bytes, from: scanned) {
        guard lineFeed > lineStart, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
          throw stage == .requestLine ? .badRequestLine : .badField
        }
        let line = lineStart..<lineFeed - 1
        lineStart = lineFeed + 1
        scanned = lineStart
        if stage == .fields, line.isEmpty {
          head.length = lineStart
          try framingFields.finish(&head)
          return .complete
        }
        try take(line, of: bytes)
      }
      try checkPartialLine(bytes)
      scanned = bytes.count
      return .needMore
    } catch {
      return .failed(error)
    }
  }

  @inline(__always)
  private static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, start < bytes.count,
      let found = memchr(base + start, 0x0A, bytes.count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  private mutating func take(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    switch stage {
    case .requestLine:
      if line.isEmpty {
        if lineStart > 2 * HeadParser.limits.emptyLines { throw .badRequestLine }
        return
      }
      sawOnlyEmptyLines = false
      if line.count > HeadParser.limits.requestLine { throw .requestLineTooLong }
      try head.readRequestLine(line, of: bytes)
      stage = .fields
      sectionStart = lineStart
    case .fields:
      guard line.count <= HeadParser.limits.field, lineStart - sectionStart <= HeadParser.limits.section,
        head.fieldCount < RequestHead.maxFields
      else { throw .headerSectionTooLarge }
      let field = try HeadParser.field(line, of: bytes)
      head.fields[head.fieldCount] = field
      head.fieldCount += 1
      try framingFields.note(field, of: bytes, in: &head)
    }
  }

  /// Refuses early what no further byte can mend, and lines that are too long already.
  private mutating func checkPartialLine(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    guard lineStart < bytes.count else { return }
    // The CR of a line at the limit may be here while its LF is not.
    let count = bytes.count - lineStart - (bytes[bytes.count - 1] == UInt8(ascii: "\r") ? 1 : 0)
    switch stage {
    case .requestLine:
      if count == 0 { return }
      sawOnlyEmptyLines = false
      if !ASCII.isToken(bytes[lineStart]) { throw .badRequestLine }
      if count > HeadParser.limits.requestLine { throw .requestLineTooLong }
    case .fields:
      if count > HeadParser.limits.field || lineStart + count - sectionStart > HeadParser.limits.section {
        throw .headerSectionTooLarge
      }
    }
  }

  /// Splits a field line (RFC 9112, 5.1): no blank before the colon, no continuation lines.
  @inline(__always)
  static func field(_ line: Range<Int>, of bytes: UnsafeRawBufferPointer) throws(HTTPError) -> RequestHead.FieldSpan {
    var index = line.lowerBound
    while index < line.upperBound, ASCII.isToken(bytes[index]) { index += 1 }
    guard index > line.lowerBound, index < line.upperBound, bytes[index] == UInt8(ascii: ":") else { throw .badField }
    let name = RequestHead.Span(line.lowerBound..<index)
    var start = index + 1
    var end = line.upperBound
    while start < end, ASCII.isBlank(bytes[start]) { start += 1 }
    while end > start, ASCII.isBlank(bytes[end - 1]) { end -= 1 }
    index = start
    while index < end {
      guard ASCII.isFieldValue(bytes[index]) else { throw .badField }
      index += 1
    }
    return RequestHead.FieldSpan(name: name, value: RequestHead.Span(start..<end))
  }
}

extension RequestHead.Span {
  /// Of offsets below 64 KiB.
  init(_ range: Range<Int>) {
    start = UInt16(range.lowerBound)
    count = UInt16(range.count)
  }
}
