/// A 128-bit hash in one pass. A lane is two halves that fold eight bytes at a time through a full 64 × 64 bit product; four
/// lanes take turns, so that a product need not wait for the one before it.
enum FastHash {
  private static let k0: UInt64 = 0xA076_1D64_78BD_642F
  private static let k1: UInt64 = 0xE703_7ED1_A0B4_28DB
  private static let k2: UInt64 = 0x8EBC_6AF0_9C88_C6E3
  private static let k3: UInt64 = 0x5899_65CC_7537_4CC3

  private struct Lane {
    var a: UInt64
    var b: UInt64

    /// Lanes differ in where they begin, so that words that trade places between them make a difference.
    init(_ number: UInt64) {
      a = k0 &+ number
      b = k2 &+ number
    }

    @inline(__always)
    mutating func add(_ word: UInt64) {
      a = fold(a ^ word, k1)
      b = fold(b ^ word, k3) &+ word
    }
  }

  static func hash(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    var (first, second, third, fourth) = (Lane(0), Lane(1), Lane(2), Lane(3))
    var offset = 0
    if let base = bytes.baseAddress {
      func word(_ index: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset + 8 * index, as: UInt64.self))
      }
      while offset + 32 <= bytes.count {
        first.add(word(0))
        second.add(word(1))
        third.add(word(2))
        fourth.add(word(3))
        offset += 32
      }
      while offset + 8 <= bytes.count {
        first.add(word(0))
        offset += 8
      }
    }
    var rest: UInt64 = 0
    for index in offset..<bytes.count { rest = rest << 8 | UInt64(bytes[index]) }
    for lane in [second, third, fourth] {
      first.add(lane.a)
      first.add(lane.b)
    }
    let length = UInt64(bytes.count)
    let a = fold(first.a ^ rest, k1 ^ length)
    let b = fold(first.b ^ rest, k3 ^ length) &+ rest
    return (fold(a ^ k2, k0 ^ b), fold(b ^ k0, k2 ^ a))
  }

  @inline(__always)
  private static func fold(_ x: UInt64, _ y: UInt64) -> UInt64 {
    let product = x.multipliedFullWidth(by: y)
    // The sum keeps a lane from sticking at zero once a factor was zero.
    return (product.high ^ product.low) &+ x
  }

  static func hexadecimal(_ word: UInt64) -> String {
    let digits: StaticString = "0123456789abcdef"
    return String(unsafeUninitializedCapacity: 16) { buffer in
      for index in 0..<16 { buffer[index] = digits.utf8Start[Int(word >> UInt64(60 - 4 * index) & 15)] }
      return 16
    }
  }
}
