/// A 128-bit hash in one pass. A lane is two halves that each fold sixteen bytes at a time through a full 64 × 64 bit product;
/// four lanes take turns, so that a product need not wait for the one before it.
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

    /// The halves take the words the other way round: where a factor of one is zero, the other keeps what that one loses.
    @inline(__always)
    mutating func add(_ left: UInt64, _ right: UInt64) {
      a = fold(a ^ left, k1 ^ right)
      b = fold(b ^ right, k3 ^ left)
    }
  }

  static func hash(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    var (first, second, third, fourth) = (Lane(0), Lane(1), Lane(2), Lane(3))
    var offset = 0
    if let base = bytes.baseAddress {
      func word(_ index: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset &+ 8 &* index, as: UInt64.self))
      }
      let end = bytes.count
      while offset &+ 64 <= end {
        first.add(word(0), word(1))
        second.add(word(2), word(3))
        third.add(word(4), word(5))
        fourth.add(word(6), word(7))
        offset &+= 64
      }
      while offset &+ 16 <= end {
        first.add(word(0), word(1))
        offset &+= 16
      }
    }
    // Up to fifteen bytes; the length tells them from zeros.
    var rest: (UInt64, UInt64) = (0, 0)
    for index in offset..<bytes.count {
      rest = (rest.0 << 8 | rest.1 >> 56, rest.1 << 8 | UInt64(bytes[index]))
    }
    first.add(rest.0, rest.1)
    first.add(second.a, second.b)
    first.add(third.a, third.b)
    first.add(fourth.a, fourth.b)
    first.add(UInt64(bytes.count), k0)
    return (fold(first.a ^ k2, k0 ^ first.b), fold(first.b ^ k0, k2 ^ first.a))
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
