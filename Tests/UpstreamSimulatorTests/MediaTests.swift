import HTTP
import JSONText
import Testing

@testable import UpstreamSimulator

@Suite struct MediaTests {
  @Test func photosAreFiftyAnAlbumAndKnowWhenTheyAreTheSame() async throws {
    try await Bench.run { bench async throws in
      let photos = try await bench.get("/photos", token: nil)
      #expect(try photos.ids() == Array(1...5_000))
      #expect(photos.text.hasPrefix("[\n  {\n    \"albumId\": 1,\n    \"id\": 1,\n    \"title\": \""))
      // Colors are numbers, without their leading zeros.
      let lengths = Set(try photos.json().elements.compactMap { $0["url"]?.string?.split(separator: "/").last?.count })
      #expect(lengths.isSuperset(of: [5, 6]))
      let tag = try #require(photos.fields[.etag])
      #expect(tag.hasPrefix("W/"))
      let again = try await bench.get("/photos", token: nil, [.ifNoneMatch: tag])
      #expect(again.status == 304)
      #expect(again.body == [])
      #expect(try await bench.get("/albums/7/photos", token: nil).ids() == Array(301...350))
      #expect(try await bench.get("/albums", token: nil).ids() == Array(1...100))
      #expect(try await bench.get("/albums/77/").json()["userId"]?.int == 8)
      #expect(try await bench.get("/photos/5001").text == "{}")
      try await bench.steer("photos", #"{"count":3,"id":2,"title":"other"}"#)
      let three = try await bench.get("/photos", token: nil, [.ifNoneMatch: tag])
      #expect(try three.json().elements.map { $0["title"]?.string }[1] == "other")
      bench.simulator.add(Fault(.shortList, on: "/photos", times: 1))
      #expect(try await bench.get("/photos").ids() == [1])
      #expect(bench.simulator.statistics["GET /photos 304"] == 1)
    }
  }

  @Test func gifsAreAsOddAsTheRealOnes() async throws {
    try await Bench.run {
      $0.giphyKeys = ["key"]
    } _: { bench async throws in
      func gifs(_ path: String) async throws -> [JSONView] {
        Array(try #require(try await bench.get("/v1/\(path)api_key=key", token: nil).json()["data"]).elements)
      }
      let first = try await gifs("gifs/trending?")
      let second = try await gifs("gifs/trending?offset=25&")
      #expect(first.count == 25 && second.count == 25)
      let ids = first.compactMap { $0["id"]?.string }
      #expect(Set(ids).count == 24)
      #expect(second[0]["id"]?.string == ids[24])
      let dates = Set(first.compactMap { $0["trending_datetime"]?.string?.prefix(4) })
      #expect(dates.isSuperset(of: ["0000", "1970"]))
      #expect(first.contains { $0["user"] == nil })
      #expect(first.allSatisfy { $0["images"]?["hd"]?.bytes == Array("{}".utf8) })
      #expect(first.contains { $0["images"]?["preview_gif"]?["height"]?.string == "0" })
      // Addresses last no longer than an answer.
      let again = try await gifs("gifs/trending?")
      #expect(again[0]["id"]?.string == ids[0])
      #expect(again[0]["images"]?["original"]?["url"]?.string != first[0]["images"]?["original"]?["url"]?.string)
      #expect(try await gifs("gifs/search?q=a&offset=4990&limit=50&").count == 9)
      #expect(try await gifs("gifs/search?q=a&offset=4999&").isEmpty)
      #expect(
        try await gifs("gifs?ids=\(ids[0]),nothing,\(ids[1])&").compactMap { $0["id"]?.string } == [ids[1], ids[0]])
    }
  }

  @Test func aKeyHasSoManyCallsAnHour() async throws {
    try await Bench.run {
      $0.limits.giphy = 2
    } _: { bench async throws in
      func status(_ query: String) async throws -> Int {
        try await bench.get("/v1/gifs/random\(query)", token: nil).status
      }
      #expect(try await status("") == 401)
      #expect(try await status("?api_key=a") == 200)
      #expect(try await status("?api_key=a") == 200)
      #expect(try await status("?api_key=a") == 429)
      #expect(try await status("?api_key=b") == 200)
      bench.simulator.advanceClock(by: 3_600)
      #expect(try await status("?api_key=a") == 200)
      try await bench.steer("gifs", #"{"keys":["b"],"limit":100}"#)
      #expect(try await status("?api_key=a") == 401)
      #expect(try await bench.get("/v1/gifs/search?api_key=b&q=\(String(repeating: "a", count: 51))").status == 414)
      for (effect, meta) in [(Fault.Effect.giphyError(429), true), (.gatewayError(403), false), (.synthetic, true)] {
        bench.simulator.add(Fault(effect, on: "/v1/**", times: 1))
        #expect((try await bench.get("/v1/gifs/trending?api_key=b").json()["meta"] != nil) == meta)
      }
    }
  }
}
