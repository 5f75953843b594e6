import Testing

@testable import HTTPServer

@Suite struct PendingOutputTests {
  /// A stream whose reader is always a little behind is never sent to the end of its bytes.
  @Test func whatWasSentIsGivenUp() {
    var output = PendingOutput()
    var most = 0
    for round in 0..<1_000 {
      [UInt8](repeating: UInt8(round % 251), count: 100_000).withUnsafeBytes { output.append($0) }
      most = max(most, output.bytes.count)
      // What waits is never less than a thousand bytes.
      output.bytesSent += output.waiting - 1_000
      #expect(output.waiting == 1_000 && output.bytes.suffix(1_000).allSatisfy { $0 == UInt8(round % 251) })
    }
    #expect(most < 300_000)
  }
}
