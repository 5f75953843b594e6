import CLibpq
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Postgres

/// Names that nobody answers for, and what connecting makes of it.
@Suite struct NameLookupTests {
  @Test func whoAsksMeanwhileGetsTheSameAnswerAndLaterThereIsAnother() async throws {
    let names = Names()
    async let first = resolve("db", names.resolver)
    try await eventually { names.count("db") == 1 }
    async let second = resolve("db", names.resolver)
    async let other = resolve("else", names.resolver)
    try await eventually { names.count("else") == 1 }
    names.answer("else", [])
    #expect(await other == [])
    names.answer("db", ["10.0.0.1", "::1"])
    #expect(await first == ["10.0.0.1", "::1"])
    #expect(await second == ["10.0.0.1", "::1"])
    let before = names.count("db")
    names.answer("db", ["10.0.0.2"])
    #expect(await resolve("db", names.resolver) == ["10.0.0.2"])
    #expect(names.count("db") == before + 1)
  }

  @Test func theSystemKnowsItself() async {
    let addresses = await resolve("localhost", .system)
    #expect(!addresses.isEmpty)
    #expect(Set(addresses).isSubset(of: ["127.0.0.1", "::1"]))
  }

  @Test func theLoopGoesOnWhileANameIsLookedUpAndItsAddressIsConnectedTo() async throws {
    try await withPeer { names, loop, peer in
      let attempt = try Attempt("host=db port=\(peer.address.port)", names.resolver, loop)
      try await eventually { names.count("db") == 1 }
      try await loop.run { try await loop.sleep(for: .milliseconds(1)) }  // a loop that is blocked never gets there
      #expect(attempt.failure == nil)
      names.answer("db", ["127.0.0.1"])
      // The peer is no PostgreSQL and hangs up. libpq tries once more, without encryption.
      try await eventually {
        if let connection = try System.accept(peer.descriptor) { System.close(connection) }
        return attempt.failure != nil
      }
      #expect(attempt.failure?.kind == .unavailable)
      #expect(attempt.failure?.message.contains("127.0.0.1") == true)
    }
  }

  @Test func aNameThatIsNeverAnsweredEndsAtTheDeadline() async throws {
    try await withPeer { names, loop, peer in
      let attempt = try Attempt(
        "host=db port=\(peer.address.port)", names.resolver, loop, timeout: .milliseconds(40))
      try await eventually { attempt.failure != nil }
      #expect(attempt.failure?.message == "connecting took longer than 0.04 seconds")
      names.answer("db", ["127.0.0.1"])
      try await settle(names, loop)
      #expect(try System.accept(peer.descriptor) == nil)
    }
  }

  @Test func aHostWithoutAnswerDoesNotKeepTheOthersFromBeingTried() async throws {
    try await withPeer { names, loop, peer in
      names.answer("up", ["127.0.0.1"])
      let attempt = try Attempt(
        "host=down,up port=1,\(peer.address.port)", names.resolver, loop, timeout: .milliseconds(200))
      var connection: Int32?
      try await eventually {
        connection = try System.accept(peer.descriptor)
        return connection != nil
      }
      if let connection { System.close(connection) }
      try await eventually { attempt.failure != nil }
      names.answer("down", [])
    }
  }

  /// A name server that says no, and one that says nothing.
  @Test(arguments: [true, false])
  func aNameWithoutAddressDoesNotKeepANumericHostFromBeingTried(isAnswered: Bool) async throws {
    try await withPeer { names, loop, peer in
      if isAnswered { names.answer("down", []) }
      let attempt = try Attempt(
        "host=down,127.0.0.1 port=1,\(peer.address.port)", names.resolver, loop,
        timeout: isAnswered ? .seconds(60) : .milliseconds(200))
      // The peer is no PostgreSQL and hangs up. libpq tries once more, without encryption.
      var connections = 0
      try await eventually {
        if let connection = try System.accept(peer.descriptor) {
          System.close(connection)
          connections += 1
        }
        return connections > 0 && attempt.failure != nil
      }
      #expect(attempt.failure?.kind == .unavailable)
    }
  }

  @Test func aNameWithoutAddressesSaysSo() async throws {
    try await withPeer { names, loop, _ in
      names.answer("db", [])
      let attempt = try Attempt("host=db", names.resolver, loop)
      try await eventually { attempt.failure != nil }
      #expect(attempt.failure?.kind == .unavailable)
      #expect(attempt.failure?.message == "no address is known for db")
    }
  }

  @Test func aCancelledAttemptIsSilentWhenTheAnswerComes() async throws {
    try await withPeer { names, loop, peer in
      let attempt = try Attempt("host=db port=\(peer.address.port)", names.resolver, loop)
      try await eventually { names.count("db") == 1 }
      try await loop.run { attempt.cancel() }
      names.answer("db", ["127.0.0.1"])
      try await settle(names, loop)
      #expect(attempt.failure == nil)
      #expect(try System.accept(peer.descriptor) == nil)
    }
  }

  // MARK: Parts

  /// Lookups that wait until the test answers them.
  private final class Names: Sendable {
    private final class Book: Sendable {
      let asked = Lock<[String: Int]>([:])
      let answers = Lock<[String: [String]]>([:])
    }

    private let book: Book
    let resolver: NameResolver

    init() {
      let book = Book()
      self.book = book
      resolver = NameResolver { name in
        book.asked.withLock { $0[name, default: 0] += 1 }
        while true {
          if let addresses = book.answers.withLock({ $0[name] }) { return addresses }
          usleep(1_000)
        }
      }
    }

    func answer(_ name: String, _ addresses: [String]) { book.answers.withLock { $0[name] = addresses } }
    func count(_ name: String) -> Int { book.asked.withLock { $0[name] ?? 0 } }
  }

  /// An attempt to connect, and how it failed.
  private final class Attempt: Sendable {
    private final class End: Sendable {
      let failure = Lock<PostgresError?>(nil)
    }

    private let end: End
    private let connector: Connector

    init(
      _ string: String, _ resolver: NameResolver, _ loop: EventLoop, timeout: Duration = .seconds(60)
    ) throws {
      let end = End()
      let parameters = try ConnectionParameters(string, applicationName: nil)
      let connector = Connector(loop: loop, setup: "", resolver: resolver) { result in
        switch result {
        case .success(let connection): PQfinish(connection)
        case .failure(let error): end.failure.withLock { $0 = error }
        }
      }
      self.end = end
      self.connector = connector
      loop.execute { connector.start(parameters, attempt: 0, timeout: timeout) }
    }

    var failure: PostgresError? { end.failure.withLock { $0 } }

    /// On the loop.
    func cancel() { connector.cancel() }
  }

  private func resolve(_ name: String, _ resolver: NameResolver) async -> [String] {
    await withCheckedContinuation { continuation in
      resolver.resolve(name) { continuation.resume(returning: $0) }
    }
  }

  /// Waits until answers that were given before have been handed over on the loop.
  private func settle(_ names: Names, _ loop: EventLoop) async throws {
    _ = await resolve("db", names.resolver)
    try await loop.run { try await loop.sleep(for: .milliseconds(5)) }
  }

  private func withPeer(_ body: (Names, EventLoop, Listener) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    let names = Names()
    defer { for name in ["db", "up", "down"] { names.answer(name, []) } }
    try await body(names, group.loops[0], try Listener(try #require(SocketAddress("127.0.0.1:0"))))
  }
}
