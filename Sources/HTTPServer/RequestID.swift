/// The names that requests get when clients bring none: 13 characters for 64 random bits.
enum RequestID {
  static let length = 13
  private static let digits: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"

  /// Whether a client's own id may be used: 1 to 64 of `A-Z a-z 0-9 . _ -`, so that it is harmless in logs and fields.
  static func isAcceptable(_ bytes: UnsafeRawBufferPointer) -> Bool {
    (1...64).contains(bytes.count)
      && bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// Writes `length` bytes.
  @inline(__always)
  static func write(_ bits: UInt64, to memory: UnsafeMutableRawPointer) {
    var bits = bits
    for index in 0..<length {
      memory.storeBytes(of: digits.utf8Start[Int(bits & 31)], toByteOffset: index, as: UInt8.self)
      bits >>= 5
    }
  }

  /// The same as text; short enough to need no allocation.
  static func text(_ bits: UInt64) -> String {
    String(unsafeUninitializedCapacity: length) { buffer in
      write(bits, to: UnsafeMutableRawPointer(buffer.baseAddress!))
      return length
    }
  }
}

/// A fast generator (xoroshiro128+) for ids. They must be unlikely to repeat, not hard to guess.
struct FastRandom {
  private var a: UInt64
  private var b: UInt64

  init(seed: UInt64) {
    a = seed
    b = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  }

  init() { self.init(seed: .random(in: .min ... .max)) }

  @inline(__always)
  mutating func next() -> UInt64 {
    let result = a &+ b
    let c = b ^ a
    a = (a << 24 | a >> 40) ^ c ^ c << 16
    b = c << 37 | c >> 27
    return result
  }
}
