import Glibc
import HTTP

/// The `Date` field's line, made once a second.
struct DateField {
  /// `Date: `, 29 bytes and CRLF.
  static let length = 37

  private let memory = UnsafeMutableRawPointer.allocate(byteCount: DateField.length, alignment: 1)
  private var validUntil: UInt64 = 0

  func deallocate() { memory.deallocate() }

  /// The line at a point of the loop's clock.
  @inline(__always)
  mutating func line(now: UInt64) -> UnsafeRawBufferPointer {
    if now >= validUntil { renew(now) }
    return UnsafeRawBufferPointer(start: memory, count: DateField.length)
  }

  @inline(never)
  private mutating func renew(_ now: UInt64) {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var line = "Date: \(HTTPDate.format(Int64(time.tv_sec)))\r\n"
    line.withUTF8 { bytes in
      precondition(bytes.count == DateField.length)
      memcpy(memory, bytes.baseAddress!, bytes.count)
    }
    validUntil = now + (1_000_000_000 - UInt64(time.tv_nsec))
  }
}
