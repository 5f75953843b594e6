import Testing

@testable import Postgres

@Suite struct ValueTests {
  private func decode<Value: ColumnDecodable>(_ type: Value.Type, _ text: String, oid: UInt32 = 0) throws -> Value {
    try (Array(text.utf8) + [0]).withUnsafeBytes { buffer in
      try Value(decoding: Cell(bytes: UnsafeRawBufferPointer(rebasing: buffer.dropLast()), type: oid))
    }
  }

  @Test func integersReachTheirLimitsAndNotBeyond() throws {
    #expect(try decode(Int64.self, "-9223372036854775808") == .min)
    #expect(try decode(Int64.self, "9223372036854775807") == .max)
    #expect(throws: Cell.Failure.outOfRange) { try decode(Int64.self, "9223372036854775808") }
    #expect(throws: Cell.Failure.outOfRange) { try decode(Int16.self, "32768") }
    #expect(try decode(Int16.self, "-32768") == -32768)
    for text in ["", "-", "1.0", " 1", "1 ", "+1", "0x1", "t"] {
      #expect(throws: Cell.Failure.malformed) { try decode(Int.self, text) }
    }
  }

  @Test func doublesAreReadWhole() throws {
    #expect(try decode(Double.self, "-1.5e300") == -1.5e300)
    #expect(try decode(Double.self, "Infinity") == .infinity)
    #expect(try decode(Double.self, "NaN").isNaN)
    for text in ["", " 1", "1 ", "1x"] {
      #expect(throws: Cell.Failure.malformed) { try decode(Double.self, text) }
    }
  }

  @Test func instantsKeepMicrosecondsAndOffsets() throws {
    #expect(try decode(Instant.self, "1970-01-01 00:00:00+00").microseconds == 0)
    #expect(try decode(Instant.self, "2024-02-29 12:34:56.789+00").microseconds == 1_709_210_096_789_000)
    #expect(try decode(Instant.self, "2000-01-01 00:00:00.000001+00").microseconds == 946_684_800_000_001)
    #expect(try decode(Instant.self, "1969-12-31 23:59:59.5+00").microseconds == -500_000)
    #expect(try decode(Instant.self, "2024-02-29 18:04:56+05:30").microseconds == 1_709_210_096_000_000)
    #expect(try decode(Instant.self, "2024-02-29 04:34:56-08").microseconds == 1_709_210_096_000_000)
    #expect(try decode(Instant.self, "294247-01-10 04:00:54+00").microseconds == 9_223_372_036_854_000_000)
    #expect(throws: Cell.Failure.malformed) { try decode(Instant.self, "294247-01-10 04:00:55+00") }
    for text in [
      "infinity", "2024-02-29", "0044-03-15 00:00:00+00 BC", "2024-13-01 00:00:00+00", "2024-02-29 12:34:56",
    ] {
      #expect(throws: Cell.Failure.malformed) { try decode(Instant.self, text) }
    }
    #expect(Instant(microseconds: -1).seconds == -1)
    #expect(Instant(microseconds: 1_999_999).seconds == 1)
  }

  @Test func identifiersAreReadAndWritten() throws {
    let text = "0123e567-e89b-12d3-a456-42661417400f"
    let value = try decode(UUID.self, text)
    #expect(value.high == 0x0123_e567_e89b_12d3)
    #expect(value.low == 0xa456_4266_1417_400f)
    #expect(value.description == text)
    #expect(UUID(text.uppercased()) == value)
    #expect(UUID("0123e567e89b12d3a45642661417400f") == nil)
    #expect(UUID("0123e567-e89b-12d3-a456-42661417400g") == nil)
    let random = UUID().description
    #expect(Array(random)[14] == "4")
    #expect("89ab".contains(Array(random)[19]))
    #expect(UUID() != UUID())
  }

  @Test func bytesAreDecodedByTheirType() throws {
    #expect(try decode([UInt8].self, "\\x00ff10", oid: 17) == [0, 255, 16])
    #expect(try decode([UInt8].self, "\\x", oid: 17) == [])
    #expect(try decode([UInt8].self, "{}", oid: 3802) == [0x7B, 0x7D])
    #expect(throws: Cell.Failure.malformed) { try decode([UInt8].self, "\\x0", oid: 17) }
    #expect(throws: Cell.Failure.malformed) { try decode([UInt8].self, "\\x0g", oid: 17) }
  }

  @Test func arraysAreReadWithQuotesAndNulls() throws {
    #expect(try decode([Int64].self, "{}") == [])
    #expect(try decode([Int64].self, "{1,-2,3}") == [1, -2, 3])
    #expect(try decode([String].self, #"{a,"b,c","NULL","\"\\",""}"#) == ["a", "b,c", "NULL", "\"\\", ""])
    #expect(try decode([String?].self, "{a,NULL}") == ["a", nil])
    #expect(throws: Cell.Failure.null) { try decode([Int64].self, "{1,NULL}") }
    for text in ["", "{", "1", "{1,}", "{,1}", "{{1}}", "[2:2]={1}", #"{"a}"#, #"{"a"b}"#] {
      #expect(throws: Cell.Failure.malformed) { try decode([String].self, text) }
    }
  }

  @Test func queueKeepsOrderWhileItGrows() {
    var queue = FIFO<Int>(capacity: 2)
    var taken: [Int] = []
    for round in 0..<100 {
      queue.append(2 * round)
      queue.append(2 * round + 1)
      if let value = queue.popFirst() { taken.append(value) }
    }
    #expect(queue.count == 100)
    #expect(queue.modify(0) { $0 } == 100)
    #expect(queue.modify(100) { $0 } == nil)
    while let value = queue.popFirst() { taken.append(value) }
    #expect(taken == Array(0..<200))
    #expect(queue.isEmpty)
  }

  @Test func backoffGrowsToItsLongestAndStartsOver() {
    var backoff = Backoff()
    for exponent in 0..<12 {
      let full = min(Duration.seconds(2), .milliseconds(50) * (1 << exponent))
      let delay = backoff.next()
      #expect(delay >= full / 2 && delay <= full)
    }
    backoff.reset()
    #expect(backoff.next() <= .milliseconds(50))
  }
}
