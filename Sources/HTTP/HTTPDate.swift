/// Dates in header fields (RFC 9110, 5.6.7).
public enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Seconds since 1970 as an IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`: always 29 bytes.
  public static func format(_ seconds: Int64) -> String {
    let date = CalendarDate(seconds: seconds)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(29)
    bytes += days[date.weekday].utf8
    bytes += ", ".utf8
    bytes.append(date.day, digits: 2)
    bytes += " \(months[date.month - 1]) ".utf8
    bytes.append(date.year, digits: 4)
    bytes.append(0x20)
    bytes.append(date.hour, digits: 2)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(date.minute, digits: 2)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(date.second, digits: 2)
    bytes += " GMT".utf8
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Seconds since 1970 of an IMF-fixdate. `nil` for anything else, the two obsolete forms included: nobody sends them, and a
  /// condition with an unreadable date is simply not there.
  public static func parse(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[4] == 0x20, bytes[7] == 0x20, bytes[11] == 0x20,
      bytes[16] == 0x20, bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
      text.hasSuffix(" GMT"),
      days.contains(String(decoding: bytes[0..<3], as: UTF8.self)),
      let month = months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
      let day = bytes.number(at: 5, digits: 2), let year = bytes.number(at: 12, digits: 4),
      let hour = bytes.number(at: 17, digits: 2), let minute = bytes.number(at: 20, digits: 2),
      let second = bytes.number(at: 23, digits: 2)
    else { return nil }
    return CalendarDate(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)?.seconds
  }
}
