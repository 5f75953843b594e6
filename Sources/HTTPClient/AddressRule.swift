import Glibc

/// Tells addresses of the public internet from those of this machine, private networks and special registries
/// (IANA's IPv4 and IPv6 special-purpose address registries, RFC 6890). Names that resolve to the latter are how a server is
/// made to talk to its own neighbors.
enum AddressRule {
  /// Whether a resolved address is a global unicast one. Anything that is not IPv4 or IPv6 is not.
  static func isPublic(_ address: UnsafePointer<sockaddr>) -> Bool {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        isPublic(four: UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
      }
    case AF_INET6:
      return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin6_addr) { isPublic(six: Array($0)) }
      }
    default:
      return false
    }
  }

  private struct Block<Bits: FixedWidthInteger & Sendable>: Sendable {
    let bits: Bits
    let length: Int

    func contains(_ address: Bits) -> Bool { (address ^ bits) >> (Bits.bitWidth - length) == 0 }
  }

  /// Address and prefix length.
  private static let specialFour: [Block<UInt32>] = [
    Block(bits: 0x0000_0000, length: 8),  // "this" network
    Block(bits: 0x0A00_0000, length: 8),  // private
    Block(bits: 0x6440_0000, length: 10),  // shared by carriers
    Block(bits: 0x7F00_0000, length: 8),  // loopback
    Block(bits: 0xA9FE_0000, length: 16),  // link-local, where clouds keep their metadata
    Block(bits: 0xAC10_0000, length: 12),  // private
    Block(bits: 0xC000_0000, length: 24),  // protocol assignments
    Block(bits: 0xC000_0200, length: 24),  // documentation
    Block(bits: 0xC058_6300, length: 24),  // 6to4 relays
    Block(bits: 0xC0A8_0000, length: 16),  // private
    Block(bits: 0xC612_0000, length: 15),  // benchmarks
    Block(bits: 0xC633_6400, length: 24),  // documentation
    Block(bits: 0xCB00_7100, length: 24),  // documentation
    Block(bits: 0xE000_0000, length: 3),  // multicast, reserved, broadcast
  ]

  static func isPublic(four address: UInt32) -> Bool { !specialFour.contains { $0.contains(address) } }

  /// Only 2000::/3 is given out as global unicast; these parts of it are special.
  private static let specialSix: [Block<UInt64>] = [
    Block(bits: 0x2001_0000_0000_0000, length: 23),  // protocol assignments, Teredo among them
    Block(bits: 0x2001_0db8_0000_0000, length: 32),  // documentation
    Block(bits: 0x3fff_0000_0000_0000, length: 20),  // documentation
  ]

  static func isPublic(six address: [UInt8]) -> Bool {
    guard address.count == 16 else { return false }
    let high = address[0..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let low = address[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // IPv4 in IPv6 clothes: mapped (::ffff:0:0/96), translated (64:ff9b::/96), 6to4 (2002::/16).
    if high == 0, low >> 32 == 0xFFFF { return isPublic(four: UInt32(truncatingIfNeeded: low)) }
    if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return isPublic(four: UInt32(truncatingIfNeeded: low)) }
    if high >> 48 == 0x2002 { return isPublic(four: UInt32(truncatingIfNeeded: high >> 16)) }
    return high >> 61 == 1 && !specialSix.contains { $0.contains(high) }
  }
}
