import CLibcrypto

/// A bearer token or a one-time code: a prefix, 30 random base-62 characters and their CRC-32 in base 62 (6 characters).
///
/// The checksum is no protection; it refuses typing errors without asking the database. Only `hash` is ever stored.
public struct Secret: Sendable {
  /// What a secret is for.
  public enum Kind: String, Sendable {
    /// A bearer token of a device, `mgp_…`.
    case token = "mgp_"
    /// A one-time invitation code, `mgi_…`.
    case invitation = "mgi_"
  }

  static let randomLength = 30
  static let checksumLength = 6

  /// The whole text. Shown once, never logged.
  public let text: String

  /// `nil` unless prefix, length, alphabet and checksum are right.
  public init?(_ text: String, kind: Kind) {
    var text = text
    guard text.withUTF8({ Secret.isWellFormed(UnsafeRawBufferPointer($0), kind) }) else { return nil }
    self.text = text
  }

  /// The hash of a secret where it lies, such as in a request; `nil` for what `init?` would not take.
  public static func hash(of bytes: UnsafeRawBufferPointer, kind: Kind) -> [UInt8]? {
    isWellFormed(bytes, kind) ? Digest.sha256(bytes) : nil
  }

  private static func isWellFormed(_ bytes: UnsafeRawBufferPointer, _ kind: Kind) -> Bool {
    let prefix = kind.rawValue.utf8
    guard bytes.count == prefix.count + randomLength + checksumLength, bytes.starts(with: prefix),
      bytes.dropFirst(prefix.count).allSatisfy(Base62.contains)
    else { return false }
    let random = bytes[prefix.count..<prefix.count + randomLength]
    return bytes.suffix(checksumLength).elementsEqual(Base62.encode(Digest.crc32(random)))
  }

  /// A new one, from libcrypto's random generator, every character equally likely.
  public init(random kind: Kind) {
    var characters: [UInt8] = []
    while characters.count < Secret.randomLength {
      var pool = [UInt8](repeating: 0, count: 48)
      // libcrypto fails here only when the kernel gives no randomness; there is no safe way to go on then.
      precondition(RAND_bytes(&pool, Int32(pool.count)) == 1, "no randomness")
      for byte in pool where byte < 248 && characters.count < Secret.randomLength {
        characters.append(Base62.alphabet[Int(byte % 62)])
      }
    }
    text = kind.rawValue + String(decoding: characters + Base62.encode(Digest.crc32(characters)), as: UTF8.self)
  }

  /// SHA-256 of the text: what the database stores and looks up.
  public var hash: [UInt8] { Digest.sha256(text.utf8) }

  /// The last four characters, for lists of devices.
  public var hint: String { String(text.suffix(4)) }
}

/// Digits, capitals, small letters: value 0 to 61, as in `magpie.crc32_base62`.
enum Base62 {
  static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  static func contains(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  /// Six characters, zeros in front; 62⁶ is more than 2³².
  static func encode(_ value: UInt32) -> [UInt8] {
    var value = value
    var digits = [UInt8](repeating: alphabet[0], count: Secret.checksumLength)
    for index in digits.indices.reversed() {
      digits[index] = alphabet[Int(value % 62)]
      value /= 62
    }
    return digits
  }
}
