/// The proleptic Gregorian calendar in UTC, without a time zone database.
struct CalendarDate: Equatable {
  var year: Int
  /// 1 to 12.
  var month: Int
  /// 1 to 31.
  var day: Int
  var hour = 0
  var minute = 0
  var second = 0

  /// `nil` when there is no such day or time. A second of 60 (a leap second) counts as 59.
  init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard (1...9999).contains(year), (1...12).contains(month), (0...23).contains(hour), (0...59).contains(minute),
      (0...60).contains(second), day >= 1, day <= CalendarDate.length(ofMonth: month, year: year)
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, min(second, 59))
  }

  /// Of seconds since 1970. Counts days in years that begin in March, so that a leap day is a year's last.
  init(seconds: Int64) {
    let days = Int(seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    let rest = Int(seconds) - days * 86_400
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
  }

  /// Seconds since 1970.
  var seconds: Int64 { Int64(daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second) }

  /// 0 is Sunday.
  var weekday: Int { ((daysSince1970 + 4) % 7 + 7) % 7 }

  private var daysSince1970: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension [UInt8] {
  /// Appends a number with leading zeros.
  mutating func append(_ number: Int, digits: Int) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The number that so many digits at an offset spell.
  func number(at offset: Int, digits: Int) -> Int? {
    guard count >= offset + digits else { return nil }
    var value = 0
    for index in offset..<offset + digits {
      let byte = self[startIndex + index]
      guard ASCII.isDigit(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }
}
