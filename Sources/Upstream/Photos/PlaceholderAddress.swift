/// An address at a host of placeholder pictures, taken apart. The host that the photo service names has been gone for years, so
/// the address is data: it says a size and a color.
public struct PlaceholderAddress: Sendable, Equatable {
  /// Width in pixels, 1 to 9,999.
  public let width: Int
  /// Height in pixels, 1 to 9,999.
  public let height: Int
  /// Six hexadecimal digits in lower case.
  public let color: String

  /// Reads `https://via.placeholder.com/SIZE/COLOR` and `https://placehold.co/SIZE/COLOR…`, where a size is a number or
  /// `WIDTHxHEIGHT`. The service's colors are numbers without their leading zeros. `nil` for every other address.
  public init?(_ url: String) {
    guard let separator = url.firstRange(of: "://"), ["http", "https"].contains(url[..<separator.lowerBound]) else {
      return nil
    }
    let parts = url[separator.upperBound...].split(
      omittingEmptySubsequences: false, whereSeparator: { $0 == "/" || $0 == "?" || $0 == "#" })
    guard parts.count >= 3, ["via.placeholder.com", "placehold.co"].contains(parts[0]) else { return nil }
    let sides = parts[1].split(separator: "x", maxSplits: 1, omittingEmptySubsequences: false)
    guard let width = Self.side(sides[0]), let height = Self.side(sides[sides.count - 1]) else { return nil }
    let digits = parts[2].utf8.prefix { $0 != UInt8(ascii: ".") }
    let isHexadecimal = digits.allSatisfy { byte in
      switch byte | 0x20 {
      case 0x30...0x39, 0x61...0x66: true
      default: false
      }
    }
    guard isHexadecimal, (1...6).contains(digits.count) else { return nil }
    self.width = width
    self.height = height
    color = String(repeating: "0", count: 6 - digits.count) + String(Substring(digits)).lowercased()
  }

  /// Such as `600`, or `600x400` when it is no square.
  public var size: String { width == height ? "\(width)" : "\(width)x\(height)" }

  private static func side(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let side = Int(text), side > 0
    else { return nil }
    return side
  }
}
