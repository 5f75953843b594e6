import Glibc

extension ColumnDecodable where Self: FixedWidthInteger {
  /// Decimal digits with an optional minus sign.
  init(decimal text: UnsafeRawBufferPointer) throws(Cell.Failure) {
    var index = 0
    let negative = text.first == UInt8(ascii: "-")
    if negative { index = 1 }
    if index == text.count { throw .malformed }
    var value: Self = 0
    while index < text.count {
      let digit = text[index] &- UInt8(ascii: "0")
      if digit > 9 { throw .malformed }
      let (product, first) = value.multipliedReportingOverflow(by: 10)
      // Downwards, since the least number has no positive counterpart.
      let (sum, second) =
        negative
        ? product.subtractingReportingOverflow(Self(digit)) : product.addingReportingOverflow(Self(digit))
      if first || second { throw .outOfRange }
      value = sum
      index += 1
    }
    self = value
  }
}

extension Int: ColumnDecodable, ArrayDecodable {
  /// Any integer column.
  public init(decoding cell: Cell) throws(Cell.Failure) { try self.init(decimal: cell.text()) }
}

extension Int64: ColumnDecodable, ArrayDecodable {
  /// Any integer column.
  public init(decoding cell: Cell) throws(Cell.Failure) { try self.init(decimal: cell.text()) }
}

extension Int32: ColumnDecodable, ArrayDecodable {
  /// Any integer column whose value fits.
  public init(decoding cell: Cell) throws(Cell.Failure) { try self.init(decimal: cell.text()) }
}

extension Int16: ColumnDecodable, ArrayDecodable {
  /// Any integer column whose value fits.
  public init(decoding cell: Cell) throws(Cell.Failure) { try self.init(decimal: cell.text()) }
}

extension Bool: ColumnDecodable, ArrayDecodable {
  /// `boolean`.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    let text = try cell.text()
    guard text.count == 1 else { throw .malformed }
    switch text[0] {
    case UInt8(ascii: "t"): self = true
    case UInt8(ascii: "f"): self = false
    default: throw .malformed
    }
  }
}

extension Double: ColumnDecodable, ArrayDecodable {
  /// Any numeric column; `NaN` and infinities included.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    let text = try cell.text()
    // `strtod` would skip white space before the number.
    guard let base = text.baseAddress?.assumingMemoryBound(to: CChar.self), let first = text.first, first > 32 else {
      throw .malformed
    }
    // A zero byte follows every cell, so this cannot run past its end.
    var end: UnsafeMutablePointer<CChar>?
    let value = strtod(base, &end)
    guard let end, UnsafePointer(end) == base + text.count else { throw .malformed }
    self = value
  }
}

extension String: ColumnDecodable, ArrayDecodable {
  /// A column of any type: PostgreSQL's text of it.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    self = String(decoding: try cell.text(), as: UTF8.self)
  }
}

extension UUID: ColumnDecodable, ArrayDecodable {
  /// `uuid`.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    guard let value = UUID(utf8: try cell.text()) else { throw .malformed }
    self = value
  }
}

extension Instant: ColumnDecodable, ArrayDecodable {
  /// `timestamptz` in ISO style. `infinity` is refused.
  public init(decoding cell: Cell) throws(Cell.Failure) {
    guard let value = Instant(utf8: try cell.text()) else { throw .malformed }
    self = value
  }
}
