import Glibc

/// Bytes to be sent, in memory that is used over and over.
///
/// Raw memory instead of an array: an answer's head is some twenty small appends, and each would check uniqueness and bounds.
/// The one owner (`ServerLoop`) deallocates it.
struct OutputBuffer {
  private(set) var memory: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int) {
    memory = .allocate(byteCount: capacity, alignment: 16)
    self.capacity = capacity
  }

  func deallocate() { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

  /// Forgets the bytes, and memory that only a rare large answer needed.
  mutating func removeAll() {
    count = 0
    if capacity > 262_144 {
      memory.deallocate()
      self = OutputBuffer(capacity: 16_384)
    }
  }

  /// Makes sure that so many more bytes fit, and answers where they go.
  @inline(__always)
  mutating func reserve(_ more: Int) -> UnsafeMutableRawPointer {
    if count + more > capacity { grow(count + more) }
    return memory + count
  }

  @inline(never)
  private mutating func grow(_ wanted: Int) {
    let larger = max(wanted, capacity * 2)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    memcpy(moved, memory, count)
    memory.deallocate()
    memory = moved
    capacity = larger
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    memcpy(reserve(bytes.count), base, bytes.count)
    count += bytes.count
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Counts bytes that were written to what `reserve` gave.
  @inline(__always)
  mutating func advance(_ written: Int) { count += written }

  /// Decimal digits of a number that is not negative.
  mutating func append(decimal number: Int) {
    var digits = 1
    var rest = number / 10
    while rest > 0 {
      digits += 1
      rest /= 10
    }
    let start = reserve(digits)
    rest = number
    for index in stride(from: digits - 1, through: 0, by: -1) {
      start.storeBytes(of: UInt8(0x30 + rest % 10), toByteOffset: index, as: UInt8.self)
      rest /= 10
    }
    count += digits
  }

  /// Hexadecimal digits of a number that is not negative.
  mutating func append(hexadecimal number: Int) { append(String(number, radix: 16)) }
}
