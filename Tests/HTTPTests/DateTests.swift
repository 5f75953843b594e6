import HTTP
import Testing

@Suite struct DateTests {
  @Test(
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
      (1_796_083_199, "Mon, 30 Nov 2026 23:59:59 GMT"),
    ] as [(Int64, String)]) func fieldDatesGoBothWays(seconds: Int64, text: String)
  {
    #expect(HTTPDate.format(seconds) == text)
    #expect(HTTPDate.parse(text) == seconds)
  }

  @Test(arguments: [
    "", "yesterday", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Xxx, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 00 Nov 1994 08:49:37 GMT",
  ]) func otherDatesAreNone(text: String) { #expect(HTTPDate.parse(text) == nil) }

  @Test(
    arguments: [
      ("2011-01-25T18:44:36Z", 1_295_981_076_000_000, nil), ("1970-01-01T00:00:00.000001Z", 1, nil),
      ("1969-12-31T23:59:59.999999Z", -1, nil),
      ("2026-11-30T22:00:00.5+01:30", 1_796_070_600_500_000, "2026-11-30T20:30:00.500000Z"),
      ("2026-11-30t22:00:00-00:30", 1_796_077_800_000_000, "2026-11-30T22:30:00Z"),
      ("1970-01-01 00:00:00.1234567Z", 123_456, "1970-01-01T00:00:00.123456Z"),
    ] as [(String, Int64, String?)]) func timestampsGoBothWays(text: String, microseconds: Int64, canonical: String?)
  {
    #expect(Timestamp(text)?.microseconds == microseconds)
    #expect(Timestamp(microseconds: microseconds).description == canonical ?? text)
  }

  @Test(arguments: [
    "", "2011-01-25", "2011-01-25T18:44:36", "2011-13-25T18:44:36Z", "2011-02-29T18:44:36Z", "2011-01-25T18:44:36.Z",
    "2011-01-25T18:44:36+1:00", "2011-01-25T18:44:36Zx", "2011-01-25T18:60:36Z", "0000-01-25T18:00:36Z",
  ]) func otherTimestampsAreNone(text: String) { #expect(Timestamp(text) == nil) }

  @Test func everyDayOfFourCenturiesComesBack() {
    for day in stride(from: Int64(-80_000), to: 80_000, by: 7) {
      let timestamp = Timestamp(seconds: day * 86_400 + 12_345)
      #expect(Timestamp(timestamp.description) == timestamp)
    }
  }
}
