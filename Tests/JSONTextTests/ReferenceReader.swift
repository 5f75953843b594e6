/// A second reader of RFC 8259, written as plainly as possible and on other means (recursion, the standard library's
/// UTF-8 decoder), to hold the fast one against.
struct ReferenceReader {
  private var units: [UInt8]
  private var next = 0

  static func accepts(_ bytes: [UInt8], maxDepth: Int = 64) -> Bool {
    guard String(validating: bytes, as: UTF8.self) != nil else { return false }
    var reader = ReferenceReader(units: bytes)
    reader.space()
    guard reader.value(maxDepth) else { return false }
    reader.space()
    return reader.next == bytes.count
  }

  private init(units: [UInt8]) { self.units = units }

  private mutating func take(_ allowed: (UInt8) -> Bool) -> Bool {
    guard next < units.count, allowed(units[next]) else { return false }
    next += 1
    return true
  }

  private mutating func take(_ text: StaticString) -> Bool {
    for index in 0..<text.utf8CodeUnitCount where !take({ $0 == text.utf8Start[index] }) { return false }
    return true
  }

  private mutating func space() {
    while take({ [9, 10, 13, 32].contains($0) }) {}
  }

  private mutating func value(_ depth: Int) -> Bool {
    guard next < units.count else { return false }
    switch units[next] {
    case UInt8(ascii: "{"):
      return container(depth, close: "}") { reader in
        guard reader.string() else { return false }
        reader.space()
        guard reader.take(":") else { return false }
        reader.space()
        return reader.value(depth - 1)
      }
    case UInt8(ascii: "["): return container(depth, close: "]") { $0.value(depth - 1) }
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "t"): return take("true")
    case UInt8(ascii: "f"): return take("false")
    case UInt8(ascii: "n"): return take("null")
    default: return number()
    }
  }

  private mutating func container(
    _ depth: Int, close: StaticString, _ item: (inout ReferenceReader) -> Bool
  ) -> Bool {
    guard depth > 0 else { return false }
    next += 1
    space()
    if take(close) { return true }
    while true {
      guard item(&self) else { return false }
      space()
      if take(close) { return true }
      guard take(",") else { return false }
      space()
    }
  }

  private mutating func string() -> Bool {
    guard take("\"") else { return false }
    while true {
      if take("\"") { return true }
      if take("\\") {
        if take("u") {
          for _ in 0..<4 where !take({ Character(Unicode.Scalar($0)).isHexDigit }) { return false }
        } else if !take({ "\"\\/bfnrt".utf8.contains($0) }) {
          return false
        }
      } else if !take({ $0 >= 0x20 }) {
        return false
      }
    }
  }

  private mutating func digits() -> Bool {
    guard take({ (0x30...0x39).contains($0) }) else { return false }
    while take({ (0x30...0x39).contains($0) }) {}
    return true
  }

  private mutating func number() -> Bool {
    _ = take("-")
    if !take("0"), !digits() { return false }
    if take("."), !digits() { return false }
    if take({ $0 | 0x20 == UInt8(ascii: "e") }) {
      _ = take({ $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") })
      let start = next
      if !digits() { return false }
      return units[start..<next].drop { $0 == UInt8(ascii: "0") }.count <= 3
    }
    return true
  }
}
