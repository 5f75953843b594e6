import Glibc

/// A point in time as PostgreSQL's `timestamptz` holds it: microseconds since 1970-01-01 00:00 UTC, without leap seconds.
public struct Instant: Hashable, Comparable, Sendable {
  /// Microseconds since 1970, negative before.
  public var microseconds: Int64

  /// Takes microseconds since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// The system's clock.
  public static var now: Instant {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Instant(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000)
  }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 { (microseconds - (microseconds % 1_000_000 + 1_000_000) % 1_000_000) / 1_000_000 }

  /// Earlier is smaller.
  public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

  /// PostgreSQL counts from 2000-01-01.
  private static let postgresEpoch: Int64 = 946_684_800_000_000

  /// Microseconds since 2000. Before the year 290,000 BC, which PostgreSQL refuses, all are the same.
  private var postgresMicroseconds: Int64 {
    let (value, overflow) = microseconds.subtractingReportingOverflow(Instant.postgresEpoch)
    return overflow ? .min + 1 : value  // the minimum itself stands for minus infinity
  }

  /// Reads `2024-05-06 07:08:09.123456+00`, PostgreSQL's ISO style with any offset. `nil` for `infinity`, years before
  /// Christ and everything else.
  init?(utf8: UnsafeRawBufferPointer) {
    var reader = DigitReader(bytes: utf8)
    guard let year = reader.number(digits: 4...6), reader.skip("-"),
      let month = reader.number(digits: 2...2), (1...12).contains(month), reader.skip("-"),
      let day = reader.number(digits: 2...2), (1...31).contains(day), reader.skip(" "),
      let hour = reader.number(digits: 2...2), reader.skip(":"),
      let minute = reader.number(digits: 2...2), reader.skip(":"),
      let second = reader.number(digits: 2...2)
    else { return nil }
    var micro: Int64 = 0
    if reader.skip(".") {
      let before = reader.offset
      guard let fraction = reader.number(digits: 1...6) else { return nil }
      micro = fraction
      for _ in 0..<(6 - (reader.offset - before)) { micro *= 10 }
    }
    var offset: Int64 = 0
    let sign: Int64 = reader.skip("-") ? -1 : reader.skip("+") ? 1 : 0
    guard sign != 0, let hours = reader.number(digits: 2...2) else { return nil }
    offset = hours * 3600
    if reader.skip(":") {
      guard let minutes = reader.number(digits: 2...2) else { return nil }
      offset += minutes * 60
      if reader.skip(":") {
        guard let seconds = reader.number(digits: 2...2) else { return nil }
        offset += seconds
      }
    }
    guard reader.offset == utf8.count else { return nil }
    let days = Instant.days(year: year, month: month, day: day)
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - sign * offset
    // PostgreSQL's last 29 years (until 294276) are beyond 64 bits when counted from 1970.
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    if overflow { return nil }
    microseconds = whole &+ micro
  }

  /// Days from 1970-01-01 to a date of the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
  /// algorithms", `days_from_civil`).
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension Instant: Bindable, BinaryElement {
  /// `timestamptz`.
  public static var parameterType: ParameterType { .timestamptz }
  /// `timestamptz[]`.
  public static var arrayParameterType: ParameterType { .timestamptzArray }
  /// Adds eight bytes.
  public func bind(to bindings: inout Bindings) {
    bindings.appendBigEndian(postgresMicroseconds, type: .timestamptz)
  }
  static var elementType: ParameterType { .timestamptz }
  static func append(_ element: Instant, to buffer: inout [UInt8]) {
    buffer.appendBigEndian(element.postgresMicroseconds)
  }
}

/// Fixed-width decimal numbers, one after the other.
private struct DigitReader {
  let bytes: UnsafeRawBufferPointer
  var offset = 0

  mutating func number(digits: ClosedRange<Int>) -> Int64? {
    var value: Int64 = 0
    var count = 0
    while offset < bytes.count, count < digits.upperBound {
      let digit = bytes[offset] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      value = value * 10 + Int64(digit)
      offset += 1
      count += 1
    }
    return count >= digits.lowerBound ? value : nil
  }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard offset < bytes.count, UInt32(bytes[offset]) == character.value else { return false }
    offset += 1
    return true
  }
}
