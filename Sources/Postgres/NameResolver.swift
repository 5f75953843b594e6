import EventLoop
import Glibc

/// Finds the addresses of host names. The system's lookup blocks, for ten seconds and more when no name server answers, so
/// each runs on a thread of its own; whoever asks for the same name meanwhile waits for the same lookup.
///
/// Nothing is kept: a name may lead elsewhere after a failover.
final class NameResolver: Sendable {
  /// Numeric addresses, the preferred one first; empty when the name has none.
  typealias Answer = @Sendable ([String]) -> Void

  /// The system's.
  static let system = NameResolver(lookup: NameResolver.addresses)

  private let lookup: @Sendable (String) -> [String]
  private let waiting = Lock<[String: [Answer]]>([:])

  /// - Parameter lookup: may block.
  init(lookup: @escaping @Sendable (String) -> [String]) { self.lookup = lookup }

  /// Calls `answer` once, on another thread or, when there is no thread to be had, at once.
  func resolve(_ name: String, _ answer: @escaping Answer) {
    let isFirst = waiting.withLock { waiting in
      waiting[name, default: []].append(answer)
      return waiting[name]?.count == 1
    }
    guard isFirst else { return }
    if !OwnThread.start({ [self] in finish(name, lookup(name)) }) { finish(name, []) }
  }

  private func finish(_ name: String, _ addresses: [String]) {
    for answer in waiting.withLock({ $0.removeValue(forKey: name) ?? [] }) { answer(addresses) }
  }

  @Sendable
  private static func addresses(of name: String) -> [String] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [String] = []
    var entry = list
    while let current = entry {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      if getnameinfo(
        current.pointee.ai_addr, current.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      {
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if !addresses.contains(address) { addresses.append(address) }
      }
      entry = current.pointee.ai_next
    }
    return addresses
  }
}
