import CLibcrypto

/// A password as it is stored: scrypt (RFC 7914) in a PHC string, `$scrypt$ln=15,r=8,p=3$salt$hash`.
///
/// The parameters are one of OWASP's equivalent choices; 32 MiB a hash keeps a small server within its memory. They are part
/// of the string, so they can change without locking anybody out.
public struct PasswordHash: Equatable, Sendable {
  /// How much work a hash is (RFC 7914, section 2).
  package struct Parameters: Equatable, Sendable {
    /// log₂ of the cost.
    var ln = 15
    var r = 8
    var p = 3

    /// What new passwords are hashed with.
    package static let standard = Parameters()
    /// As little work as is reasonable at all: for tests, which would else spend half a minute on passwords like `password`.
    package static let least = Parameters(ln: 10, r: 1, p: 1)

    /// Bounds what a stored string may make us spend.
    var isReasonable: Bool { (10...20).contains(ln) && (1...32).contains(r) && (1...16).contains(p) }
    /// Bytes that libcrypto needs at most.
    var memory: UInt64 { UInt64(128 * r) << UInt64(ln) + UInt64(128 * r * p) + 1 << 20 }
  }

  let parameters: Parameters
  let salt: [UInt8]
  let key: [UInt8]

  /// Hashes with a new salt. Takes about a tenth of a second of one core: never on an event loop.
  public init(password: [UInt8]) {
    self.init(password: password, parameters: .standard)
  }

  private init(parameters: Parameters, salt: [UInt8], key: [UInt8]) {
    self.parameters = parameters
    self.salt = salt
    self.key = key
  }

  init(password: [UInt8], parameters: Parameters) {
    var salt = [UInt8](repeating: 0, count: 16)
    // See Secret: without randomness there is no safe way to go on.
    precondition(RAND_bytes(&salt, Int32(salt.count)) == 1, "no randomness")
    self.init(
      parameters: parameters, salt: salt, key: PasswordHash.derive(password, salt, parameters, length: 32))
  }

  /// `nil` when the text is not such a string, or asks for unreasonable parameters.
  public init?(_ text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
      let salt = Base64.decode(parts[3]), let key = Base64.decode(parts[4]), salt.count >= 8, key.count >= 16
    else { return nil }
    var parameters = Parameters()
    let settings = parts[2].split(separator: ",")
    guard settings.count == 3 else { return nil }
    for (setting, path) in zip(settings, [("ln=", \Parameters.ln), ("r=", \Parameters.r), ("p=", \Parameters.p)]) {
      guard setting.hasPrefix(path.0), let value = Int(setting.dropFirst(path.0.count)) else { return nil }
      parameters[keyPath: path.1] = value
    }
    guard parameters.isReasonable else { return nil }
    self.parameters = parameters
    self.salt = salt
    self.key = key
  }

  /// The PHC string.
  public var text: String {
    "$scrypt$ln=\(parameters.ln),r=\(parameters.r),p=\(parameters.p)$\(Base64.encode(salt))$\(Base64.encode(key))"
  }

  /// Whether it is the password. As slow as hashing.
  public func matches(_ password: [UInt8]) -> Bool {
    Digest.equal(PasswordHash.derive(password, salt, parameters, length: key.count), key)
  }

  /// Whether it was made with other parameters than new ones are.
  func isOutdated(where present: Parameters) -> Bool { parameters != present || key.count != 32 }

  /// What unknown names are checked against, so that they take as long as known ones.
  static func dummy(_ parameters: Parameters) -> PasswordHash {
    PasswordHash(
      parameters: parameters, salt: [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 32))
  }

  private static func derive(_ password: [UInt8], _ salt: [UInt8], _ parameters: Parameters, length: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { output, count in
      let done = password.withUnsafeBytes { bytes in
        EVP_PBE_scrypt(
          bytes.bindMemory(to: CChar.self).baseAddress, password.count, salt, salt.count, 1 << UInt64(parameters.ln),
          UInt64(parameters.r), UInt64(parameters.p), parameters.memory, output.baseAddress, length)
      }
      // Fails only when memory runs out; an answer made up instead could match something.
      precondition(done == 1, "scrypt ran out of memory")
      count = length
    }
  }
}

/// Base64 without padding (RFC 4648 section 4), as PHC strings have it.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var output: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let group = bytes[index..<min(index + 3, bytes.count)]
      let value = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...group.count { output.append(alphabet[value >> (18 - 6 * digit) & 63]) }
      index += 3
    }
    return String(decoding: output, as: UTF8.self)
  }

  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var output: [UInt8] = []
    var value = 0
    var bits = 0
    for byte in text.utf8 {
      guard let digit = alphabet.firstIndex(of: byte) else { return nil }
      value = (value << 6 | digit) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        output.append(UInt8(truncatingIfNeeded: value >> bits))
      }
    }
    return text.utf8.count % 4 == 1 ? nil : output
  }
}
