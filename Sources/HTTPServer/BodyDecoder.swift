import HTTP

/// Takes a request's body out of its framing (RFC 9112, 6 and 7.1). Pure: bytes in, pieces of the body out.
struct BodyDecoder {
  /// Bytes of a line with a chunk's size, without CRLF.
  static let maxChunkLine = 256
  /// Bytes of all trailer lines with their CRLFs.
  static let maxTrailers = 8192
  /// Hexadecimal digits of a chunk's size: what always fits.
  static let maxSizeDigits = 15

  private enum State: Equatable {
    case done
    case length(Int)
    case chunkSize(value: Int, digits: Int)
    case chunkExtension
    case chunkLineFeed(Int)
    case chunkData(Int)
    case dataCarriageReturn
    case dataLineFeed
    case trailerStart
    case trailerName
    case trailerValue
    case trailerLineFeed
    case lastLineFeed
  }

  private var state: State
  /// The size read from a line whose extension is being passed over.
  private var size = 0
  private var lineLength = 0
  private var trailerLength = 0

  init(_ framing: RequestHead.Framing) {
    switch framing {
    case .none: state = .done
    case .length(let count): state = count == 0 ? .done : .length(count)
    case .chunked: state = .chunkSize(value: 0, digits: 0)
    }
  }

  /// Whether the body has ended.
  var isComplete: Bool { state == .done }

  /// Bytes of the body still to come; `nil` when only its end will tell.
  var remaining: Int? {
    switch state {
    case .done: 0
    case .length(let count): count
    default: nil
    }
  }

  /// Takes bytes from the front of `input` until it is empty or the body has ended.
  ///
  /// - Parameter piece: called with parts of the body in order.
  /// - Returns: how many bytes were taken.
  /// - Throws: `.badBody`, or `.headerSectionTooLarge` for trailers.
  mutating func decode(
    _ input: UnsafeRawBufferPointer, piece: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTPError) -> Int {
    var index = 0
    while index < input.count {
      switch state {
      case .done: return index
      case .length(let count):
        let taken = min(count, input.count - index)
        piece(UnsafeRawBufferPointer(rebasing: input[index..<index + taken]))
        index += taken
        state = taken == count ? .done : .length(count - taken)
      case .chunkData(let count):
        let taken = min(count, input.count - index)
        piece(UnsafeRawBufferPointer(rebasing: input[index..<index + taken]))
        index += taken
        state = taken == count ? .dataCarriageReturn : .chunkData(count - taken)
      default:
        try take(input[index])
        index += 1
      }
    }
    return index
  }

  private mutating func take(_ byte: UInt8) throws(HTTPError) {
    switch state {
    case .chunkSize(let value, let digits):
      try countLine()
      if let digit = ASCII.hexValue(byte) {
        if digits == BodyDecoder.maxSizeDigits { throw .badBody }
        state = .chunkSize(value: value << 4 | Int(digit), digits: digits + 1)
      } else if digits == 0 {
        throw .badBody
      } else if byte == UInt8(ascii: ";") {
        size = value
        state = .chunkExtension
      } else {
        try expect(byte, "\r", then: .chunkLineFeed(value))
      }
    case .chunkExtension:
      try countLine()
      if byte == UInt8(ascii: "\r") {
        state = .chunkLineFeed(size)
      } else if !ASCII.isFieldValue(byte) {
        throw .badBody
      }
    case .chunkLineFeed(let count):
      lineLength = 0
      try expect(byte, "\n", then: count == 0 ? .trailerStart : .chunkData(count))
    case .dataCarriageReturn: try expect(byte, "\r", then: .dataLineFeed)
    case .dataLineFeed: try expect(byte, "\n", then: .chunkSize(value: 0, digits: 0))
    case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed, .lastLineFeed: try takeTrailer(byte)
    case .done, .length, .chunkData: break  // handled in bulk
    }
  }

  /// Trailers are checked like header fields and then dropped: nothing here needs one (RFC 9110, 6.5.1).
  private mutating func takeTrailer(_ byte: UInt8) throws(HTTPError) {
    if state != .lastLineFeed, !(state == .trailerStart && byte == UInt8(ascii: "\r")) {
      trailerLength += 1
      if trailerLength > BodyDecoder.maxTrailers { throw .headerSectionTooLarge }
    }
    switch state {
    case .trailerStart where byte == UInt8(ascii: "\r"): state = .lastLineFeed
    case .trailerStart:
      if !ASCII.isToken(byte) { throw .badBody }
      state = .trailerName
    case .trailerName:
      if byte == UInt8(ascii: ":") {
        state = .trailerValue
      } else if !ASCII.isToken(byte) {
        throw .badBody
      }
    case .trailerValue:
      if byte == UInt8(ascii: "\r") {
        state = .trailerLineFeed
      } else if !ASCII.isFieldValue(byte) {
        throw .badBody
      }
    case .trailerLineFeed: try expect(byte, "\n", then: .trailerStart)
    default: try expect(byte, "\n", then: .done)
    }
  }

  private mutating func countLine() throws(HTTPError) {
    lineLength += 1
    // One more for the CR, which is counted when it comes.
    if lineLength > BodyDecoder.maxChunkLine + 1 { throw .badBody }
  }

  private mutating func expect(_ byte: UInt8, _ wanted: Unicode.Scalar, then next: State) throws(HTTPError) {
    guard byte == UInt8(ascii: wanted) else { throw .badBody }
    state = next
  }
}
