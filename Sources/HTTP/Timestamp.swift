/// A point in time as JSON has it: RFC 3339 in UTC, such as `2011-01-25T18:44:36Z`.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since 1970.
  public let microseconds: Int64

  /// Takes microseconds since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// Takes seconds since 1970.
  public init(seconds: Int64) { microseconds = seconds * 1_000_000 }

  /// Reads a date and time with `Z` or an offset, with or without a fraction (cut after six digits). `nil` for other text.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] | 0x20 == UInt8(ascii: "t") || bytes[10] == 0x20,
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = bytes.number(at: 0, digits: 4), let month = bytes.number(at: 5, digits: 2),
      let day = bytes.number(at: 8, digits: 2), let hour = bytes.number(at: 11, digits: 2),
      let minute = bytes.number(at: 14, digits: 2), let second = bytes.number(at: 17, digits: 2),
      let date = CalendarDate(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    var rest = bytes[19...]
    var fraction: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix(while: ASCII.isDigit)
      guard !digits.isEmpty else { return nil }
      for place in 0..<6 {
        fraction = fraction * 10 + (place < digits.count ? Int64(digits[digits.startIndex + place] - 0x30) : 0)
      }
      rest = rest.dropFirst(digits.count + 1)
    }
    guard let offset = Timestamp.offset(rest) else { return nil }
    microseconds = (date.seconds - offset) * 1_000_000 + fraction
  }

  /// Seconds east of UTC.
  private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
    guard let sign = bytes.first else { return nil }
    if bytes.count == 1 { return sign | 0x20 == UInt8(ascii: "z") ? 0 : nil }
    guard bytes.count == 6, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
      bytes[bytes.startIndex + 3] == UInt8(ascii: ":"),
      let hours = bytes.number(at: 1, digits: 2), let minutes = bytes.number(at: 4, digits: 2),
      hours < 24, minutes < 60
    else { return nil }
    let seconds = Int64(hours * 3600 + minutes * 60)
    return sign == UInt8(ascii: "-") ? -seconds : seconds
  }

  /// In UTC with `Z`; six digits of a fraction when there is one.
  public var description: String {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let seconds = remainder < 0 ? quotient - 1 : quotient
    let fraction = remainder < 0 ? remainder + 1_000_000 : remainder
    let date = CalendarDate(seconds: seconds)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(27)
    let parts = [
      (date.year, 4, "-"), (date.month, 2, "-"), (date.day, 2, "T"), (date.hour, 2, ":"), (date.minute, 2, ":"),
    ]
    for (number, digits, separator) in parts {
      bytes.append(number, digits: digits)
      bytes += separator.utf8
    }
    bytes.append(date.second, digits: 2)
    if fraction != 0 {
      bytes.append(UInt8(ascii: "."))
      bytes.append(Int(fraction), digits: 6)
    }
    bytes.append(UInt8(ascii: "Z"))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Earlier or not.
  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }
}
