import CLibcrypto

/// Hashes of libcrypto.
public enum Digest {
  /// SHA-256, 32 bytes.
  public static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    return [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      _ = SHA256(input, input.count, output.baseAddress)
      count = 32
    }
  }

  /// HMAC with SHA-256 (RFC 2104), 32 bytes.
  public static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length: UInt32 = 0
      _ = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, output.baseAddress, &length)
      count = Int(length)
    }
  }

  /// Compares without telling by its duration where two equally long values differ.
  public static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
  }

  /// CRC-32 with the polynomial of zip and PNG.
  static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }
}
