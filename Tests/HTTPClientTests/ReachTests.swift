import EventLoop
import Glibc
import HTTP
import Testing

@testable import HTTPClient

/// What a client may ask and what it must not.
@Suite struct ReachTests {
  private func failure(
    _ url: String, configure: @escaping @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) async throws -> HTTPClient.Failure? {
    try await Bench.run(Bench.answering(ExchangeTests.ok), configure: configure) { bench async throws in
      do {
        let url = url.replacing("PORT", with: "\(bench.server.address.port)")
        _ = try await bench.send(.init(.get, url))
        return nil
      } catch {
        let accepted = try await bench.accepted()
        #expect(accepted == 0, "nothing may be connected to")
        return error as? HTTPClient.Failure
      }
    }
  }

  @Test(arguments: ["https://127.0.0.1:PORT", "https://localhost:PORT", "https://[::1]:PORT", "https://0x7f.1:PORT"])
  func addressesOfThisMachineAreRefused(url: String) async throws {
    #expect(try await failure(url) == .refusedAddress)
  }

  @Test func linkLocalAndPrivateAddressesAreRefused() async throws {
    #expect(try await failure("https://169.254.169.254/latest") == .refusedAddress)
    #expect(try await failure("https://10.0.0.1/") == .refusedAddress)
  }

  @Test func plainHTTPIsForTrustedOriginsOnly() async throws {
    #expect(try await failure("http://127.0.0.1:PORT") == nil)
    #expect(try await failure("http://localhost:PORT") == .refusedProtocol)
    #expect(try await failure("http://127.0.0.1:PORT") { $0.trustedOrigins = [] } == .refusedProtocol)
  }

  @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:PORT/x", "unix:///x"])
  func otherProtocolsAreRefused(url: String) async throws {
    #expect(try await failure(url) == .refusedProtocol)
  }

  @Test func originsOutsideTheListAreRefused() async throws {
    #expect(
      try await failure("https://other.example/") {
        $0.origins = [HTTPClient.Origin("https://api.example")].compactMap(\.self).reduce(into: []) { $0.insert($1) }
      } == .refusedOrigin)
  }

  @Test(arguments: [
    "", "/users/a", "127.0.0.1:PORT", "http://", "http://user:secret@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/a\r\nX: y",
    "http://127.0.0.1:99999/",
  ])
  func malformedAddressesAreRefused(url: String) async throws {
    let failure = try await failure(url)
    #expect(failure == .invalidRequest || (url == "127.0.0.1:PORT" && failure == .refusedProtocol))
  }

  @Test func urlOfTheLongestLengthIsSentAndOneByteMoreIsNot() async throws {
    try await Bench.run(Bench.answering(ExchangeTests.ok)) { bench async throws in
      let filler = String(repeating: "a", count: 8 * 1024 - bench.url.utf8.count - 1)
      #expect(try await bench.get("/" + filler).status.code == 200)
      await #expect(throws: HTTPClient.Failure.invalidRequest) { try await bench.get("/a" + filler) }
    }
  }

  @Test(arguments: ["Host", "content-length", "Transfer-Encoding", "Connection", "Expect"])
  func framingFieldsBelongToTheClient(name: String) async throws {
    try await Bench.run(Bench.answering(ExchangeTests.ok)) { bench async throws in
      let fields = [try #require(Fields.Name(name)): "1"] as Fields
      await #expect(throws: HTTPClient.Failure.invalidRequest) {
        try await bench.send(.init(.get, bench.url, fields: fields))
      }
    }
  }

  /// A port that is taken, so that no other test gets it, and that nobody listens at.
  private static func boundPort() throws -> (socket: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) + getsockname(descriptor, address, &length)
      }
    }
    try #require(code == 0)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  @Test func nobodyListeningIsAFailedConnect() async throws {
    let (socket, port) = try Self.boundPort()
    defer { System.close(socket) }
    let url = "http://127.0.0.1:\(port)"
    let failure = try await failure(url) { configuration in
      if let origin = HTTPClient.Origin(url) { configuration.trustedOrigins = [origin] }
    }
    #expect(failure == .connectFailed)
  }

  @Test func nameThatCannotExistIsUnresolved() async throws {
    let label = String(repeating: "a", count: 64)  // one more than DNS has room for
    #expect(try await failure("https://\(label).example/") == .unresolved)
  }

  @Test func plainServerBehindAnHTTPSAddressFailsInTLS() async throws {
    try await Bench.run(
      { connection in
        await connection.peerClosed()
      },
      configure: { configuration in
        let plain = configuration.trustedOrigins
        configuration.trustedOrigins = Set(plain.map { .init(scheme: .https, host: $0.host, port: $0.port) })
      }
    ) { bench async throws in
      await #expect(throws: HTTPClient.Failure.timedOut) {
        try await bench.send(.init(.get, "https://\(bench.server.address)", connectTimeout: .milliseconds(50)))
      }
    }
    try await Bench.run(
      { try await $0.send("HTTP/1.1 400 Bad Request\r\n\r\n") },
      configure: { configuration in
        let plain = configuration.trustedOrigins
        configuration.trustedOrigins = Set(plain.map { .init(scheme: .https, host: $0.host, port: $0.port) })
      }
    ) { bench async throws in
      await #expect(throws: HTTPClient.Failure.tls) {
        try await bench.send(.init(.get, "https://\(bench.server.address)"))
      }
    }
  }

  @Test func failuresSayNothingOfTheRequest() async throws {
    let failure = try await failure("https://127.0.0.1:PORT/gifs?api_key=canary")
    let text = "\(try #require(failure)) \(String(reflecting: failure))"
    #expect(!text.contains("canary") && !text.contains("127.0.0.1"))
    #expect("\(try #require(failure))" == "the address is not allowed")
  }
}
