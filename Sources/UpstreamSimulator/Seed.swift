/// Repeatable pseudo-random numbers: the same seed and place give the same number, in any order of asking.
struct Seed: Sendable {
  let value: UInt64

  /// The number at a place. The topic keeps numbers for different uses apart.
  func number(_ topic: Topic, _ place: UInt64) -> UInt64 {
    Seed.mix(value ^ Seed.mix(place ^ topic.rawValue &* 0xA076_1D64_78BD_642F))
  }

  enum Topic: UInt64 {
    case login = 1
    case order
    case counts
    case text
    case dates
    case repositories
    case photos
    case gifs
  }

  /// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
  static func mix(_ value: UInt64) -> UInt64 {
    var z = value &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }

  /// A number for a text, the same in every process (FNV-1a).
  static func number(of text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// A permutation of `0..<size` that is computed in both directions: `x ↦ start + x · step`, modulo a power of two.
struct Permutation: Sendable {
  let bits: Int
  private let step: UInt64
  private let start: UInt64
  private let inverse: UInt64

  /// Any number makes another permutation.
  init(bits: Int, number: UInt64) {
    self.bits = bits
    step = number >> 20 | 1  // odd numbers have an inverse
    start = Seed.mix(number)
    var inverse = step
    for _ in 0..<6 { inverse = inverse &* (2 &- step &* inverse) }  // Newton; doubles the right bits each time
    self.inverse = inverse
  }

  private var mask: UInt64 { 1 << UInt64(bits) - 1 }

  func callAsFunction(_ x: Int) -> Int { Int((start &+ UInt64(x) &* step) & mask) }

  /// Where a value came from.
  func origin(of value: Int) -> Int { Int(((UInt64(value) &- start) &* inverse) & mask) }
}
