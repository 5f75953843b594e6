/// Places in a manual order: texts of printable ASCII that are compared byte by byte, such that there is room between any two.
///
/// To move one thing is to write one rank. Inserting again and again at one place makes ranks longer; when none of at most
/// `maxLength` bytes is left, the neighborhood is given new ones with `spread`.
public enum Rank {
  /// Bytes of a rank at most.
  public static let maxLength = 100

  /// What new ranks are made of, in the order of their bytes. Others that an app has written are taken as they are.
  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  /// Digits that count up and down at the ends of a list: room for hundreds of millions.
  private static let width = 5
  private static let belowAll: UInt8 = 0x20
  private static let aboveAll: UInt8 = 0x7F
  private static let lowest = UInt8(ascii: "!")
  private static let zero = UInt8(ascii: "0")

  /// Whether a text can be a rank. The empty one is that of things without a place, which come first.
  public static func isValid(_ text: String) -> Bool {
    text.utf8.count <= maxLength && text.utf8.allSatisfy { $0 > belowAll && $0 < aboveAll }
  }

  /// A rank after `low` and before `high`; `nil` stands for the ends of the list.
  ///
  /// - Returns: `nil` when there is none that is short enough, or `low` is not before `high`.
  public static func between(_ low: String?, _ high: String?) -> String? {
    let low = Array((low ?? "").utf8)
    guard let high = high.map({ Array($0.utf8) }) else {
      return text(next(after: low) ?? middle(low, nil))
    }
    guard low.lexicographicallyPrecedes(high) else { return nil }
    if low.isEmpty, let rank = previous(before: high) { return text(rank) }
    return text(middle(low, high))
  }

  /// So many ranks between two, in order and as far apart as may be.
  ///
  /// - Returns: `nil` when one of them would be too long.
  public static func spread(_ count: Int, between low: String?, and high: String?) -> [String]? {
    guard count > 0 else { return [] }
    var ranks = Array(repeating: "", count: count)
    // The middle first, then both halves; deep enough for any list that fits into memory.
    var open: [(range: Range<Int>, low: String?, high: String?)] = [(0..<count, low, high)]
    while let part = open.popLast() {
      guard !part.range.isEmpty else { continue }
      let place = part.range.lowerBound + part.range.count / 2
      let lowest = Array((part.low ?? "").utf8)
      let highest = part.high.map { Array($0.utf8) }
      if let highest, !lowest.lexicographicallyPrecedes(highest) { return nil }
      guard let rank = text(middle(lowest, highest)) else { return nil }
      ranks[place] = rank
      open.append((part.range.lowerBound..<place, part.low, rank))
      open.append((place + 1..<part.range.upperBound, rank, part.high))
    }
    return ranks
  }

  private static func text(_ bytes: [UInt8]?) -> String? {
    guard let bytes, bytes.count <= maxLength else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Counts one up at the end of a list, so that a long list of additions does not make long ranks.
  private static func next(after low: [UInt8]) -> [UInt8]? {
    guard !low.isEmpty, var number = digits(of: low) else { return low.isEmpty ? middle([], nil) : nil }
    for place in number.indices.reversed() {
      // Never a zero at the end: there would be little room before it.
      if number[place] < digits.count - 1 {
        number[place] += 1
        if number[width - 1] == 0 { number[width - 1] = 1 }
        return number.map { digits[$0] }
      }
      number[place] = 0
    }
    return nil
  }

  /// Counts one down at the beginning of a list.
  private static func previous(before high: [UInt8]) -> [UInt8]? {
    guard var number = digits(of: high) else { return nil }
    for place in number.indices.reversed() {
      // Never down to nothing: what begins with zeros has little room before it.
      if number[place] > 1 {
        number[place] -= 1
        return number.map { digits[$0] }
      }
      number[place] = digits.count - 1
    }
    return nil
  }

  /// The first few digits as numbers; `nil` when there are other signs among them.
  private static func digits(of rank: [UInt8]) -> [Int]? {
    var number: [Int] = []
    for place in 0..<width {
      guard place < rank.count else {
        number.append(0)
        continue
      }
      guard let digit = digits.firstIndex(of: rank[place]) else { return nil }
      number.append(digit)
    }
    return number
  }

  /// A short text strictly between two; `nil` as `high` for the end.
  private static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8]? {
    var (low, high) = (low, high)
    var result: [UInt8] = []
    while result.count <= maxLength {
      let place = result.count
      let lower = place < low.count ? low[place] : belowAll
      let upper = high.map { place < $0.count ? $0[place] : belowAll } ?? aboveAll
      if lower == upper {
        // Both have ended: nothing is between a text and itself.
        guard place < low.count else { return nil }
        result.append(lower)
      } else if let digit = digit(between: lower, and: upper) {
        return result + [digit]
      } else if lower < zero, zero < upper {
        // A zero is between them, and never the end: there would be little room before it.
        result.append(zero)
        (low, high) = ([], nil)
      } else if place < low.count {
        // All that begins like the lower one and goes on is before the higher one.
        result.append(lower)
        high = nil
      } else {
        // The lower one has ended, and the higher one goes on with a zero or a sign below it.
        guard let rest = high?.dropFirst(place + 1), !rest.isEmpty else {
          guard upper > lowest else { return nil }
          result.append(belowAll + (upper - belowAll) / 2)
          (low, high) = ([], nil)
          continue
        }
        result.append(upper)
        if rest.allSatisfy({ $0 == lowest }) { return result }
      }
    }
    return nil
  }

  /// The digit in the middle of two signs, without the zero.
  private static func digit(between lower: UInt8, and upper: UInt8) -> UInt8? {
    let within = digits.filter { $0 > lower && $0 < upper && $0 != zero }
    return within.isEmpty ? nil : within[within.count / 2]
  }
}
