import CLibcrypto
import CZlib

/// Hashes of libcrypto.
public enum Digest {
  /// libcrypto's SHA-256. Asked for by each call, it is looked for among the providers each time, which takes longer than
  /// hashing a token.
  ///
  /// `nonisolated(unsafe)`: a fetched method is never changed, and never freed here.
  private nonisolated(unsafe) static let method = EVP_MD_fetch(nil, "SHA256", nil)

  /// SHA-256, 32 bytes.
  public static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      // Out of memory is the only way to fail, and there is no answer without a hash.
      let isDone = whereTheyLie(bytes) { EVP_Digest($0.baseAddress, $0.count, output.baseAddress, nil, method, nil) }
      precondition(isDone == 1, "no SHA-256")
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
  static func crc32(_ bytes: some Collection<UInt8>) -> UInt32 {
    // Far shorter than zlib can count.
    UInt32(whereTheyLie(bytes) { CZlib.crc32(0, $0.baseAddress, UInt32($0.count)) })
  }

  private static func whereTheyLie<Result>(
    _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
  }
}
