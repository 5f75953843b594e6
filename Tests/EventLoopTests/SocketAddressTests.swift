import Testing

@testable import EventLoop

@Suite struct SocketAddressTests {
  @Test(arguments: [
    ("127.0.0.1:8080", "127.0.0.1:8080"), ("[::]:8080", "[::]:8080"), ("[::1]:0", "[::1]:0"),
    ("localhost:80", "127.0.0.1:80"), ("0.0.0.0:65535", "0.0.0.0:65535"),
  ])
  func wellFormedAddressesAreTaken(text: String, expected: String) {
    #expect(SocketAddress(text)?.description == expected)
  }

  @Test(arguments: [
    "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "::1:80", "[127.0.0.1]:80",
    "example.org:80", "127.0.0.1:8a", "[::1:80",
  ])
  func malformedAddressesAreRefused(text: String) {
    #expect(SocketAddress(text) == nil)
  }

  @Test func listenerTellsItsRealPort() throws {
    let listener = try Listener(SocketAddress("127.0.0.1:0")!)
    #expect(listener.address.port != 0)
    #expect(throws: SystemError.self) { try Listener(listener.address) }
  }
}
