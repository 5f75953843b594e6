import HTTP

/// Collects the header lines of an answer as libcurl hands them over, one a call. Pure.
///
/// Interim answers (1xx) are dropped when the next status line comes, trailers are counted and dropped.
struct AnswerHead {
  private let maxBytes: Int
  private var byteCount = 0
  private var lines: [(name: [UInt8], value: [UInt8])] = []
  private var interim = true
  private var ended = true

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  /// Takes one line with its line end. `false` when there are more bytes than may be.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    byteCount += line.count
    if byteCount > maxBytes { return false }
    var line = line[...]
    while let last = line.last, last == 0x0D || last == 0x0A { line.removeLast() }
    if ended {
      // Only a status line may follow here, and only after an interim answer; the rest are trailers.
      if interim, line.starts(with: Array("HTTP/".utf8)) { begin(line) }
    } else if line.isEmpty {
      ended = true
    } else {
      add(line)
    }
    return true
  }

  private mutating func begin(_ statusLine: Slice<UnsafeRawBufferPointer>) {
    lines = []
    ended = false
    let code = statusLine.split(separator: 0x20, maxSplits: 2).dropFirst().first
    interim = code?.first == UInt8(ascii: "1") && code?.count == 3
  }

  private mutating func add(_ line: Slice<UnsafeRawBufferPointer>) {
    if line.first == 0x20 || line.first == 0x09 {
      // Folded over two lines, which RFC 9112 5.2 has us join with a space.
      guard let last = lines.indices.last else { return }
      lines[last].value += [0x20] + AnswerHead.trim(line)
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      lines.append((Array(line[..<colon]), Array(AnswerHead.trim(line[(colon + 1)...]))))
    }
  }

  private static func trim(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return bytes
  }

  /// The lines of the final answer whose names and values are allowed ones.
  func fields() -> Fields {
    var fields = Fields()
    for line in lines {
      guard let name = Fields.Name(String(decoding: line.name, as: UTF8.self)) else { continue }
      fields.append(name, String(decoding: line.value, as: UTF8.self))
    }
    return fields
  }
}
