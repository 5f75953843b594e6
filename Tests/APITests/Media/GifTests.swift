import HTTP
import JSONText
import Magpie
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// `/giphy/v1` as GIPHY's clients see it.
@Suite struct GifTests {
  static let key = "CanaryKeyOfGiphy0000000000000001"

  static func world(
    limit: Int = 100, _ adjust: (inout TestWorld.Options) -> Void = { _ in },
    _ body: @Sendable (TestWorld, String) async throws -> Void
  ) async throws {
    var options = TestWorld.Options()
    options.giphyKey = key
    options.giphyLimit = limit
    options.simulator.giphyKeys = [key]
    adjust(&options)
    try await TestWorld.run(options) { world in
      try await body(world, try await world.token())
    }
  }

  private func items(_ answer: Answer) throws -> [JSONView] { Array(try #require(try answer.json["data"]).elements) }

  @Test func `without a key the relay is off and says what to do`() async throws {
    try await Self.world {
      $0.giphyKey = nil
    } _: { world, token in
      for path in [
        "gifs/trending", "gifs/search?q=cat", "stickers/random", "gifs/abc", "gifs?ids=abc", "gifs/search/tags?q=c",
      ] {
        let answer = try await world.get("/giphy/v1/\(path)", as: token)
        #expect(answer.status == 503, "\(path)")
        #expect(answer.code == "giphy/relay-off")
        #expect(try answer.json["detail"]?.string?.contains("MAGPIE_GIPHY_KEY") == true)
        #expect(try answer.json["meta"]?["status"]?.int == 503)
      }
      #expect(world.simulator.requestCount == 0)
      // Nobody is told even that.
      #expect(try await world.get("/giphy/v1/gifs/trending", as: nil).status == 401)
    }
  }

  @Test func `trending and search have GIPHY's shape, and a little more`() async throws {
    try await Self.world { world, token in
      let answer = try await world.get("/giphy/v1/gifs/search?q=Cat&limit=3", as: token)
      #expect(answer.status == 200)
      #expect(answer.cacheStatus == "magpie; fwd=miss")
      let json = try answer.json
      #expect(json["meta"]?["status"]?.int == 200)
      #expect(json["meta"]?["response_id"]?.string?.isEmpty == false)
      #expect(json["attribution"]?.string == "Powered By GIPHY")
      #expect(json["pagination"]?["count"]?.int == 3)
      let gifs = try items(answer)
      #expect(gifs.count == 3)
      let gif = try #require(gifs.first)
      // Byte for byte, with all that hangs on it.
      let address = try #require(gif["images"]?["original"]?["url"]?.string)
      #expect(address.hasPrefix("https://media"))
      #expect(address.contains("&ep=v1_gifs_search&rid=giphy.gif&ct=g"))
      #expect(gif["images"]?["original"]?["height"]?.kind == .string)
      #expect(gif["images"]?["hd"]?.bytes == Array("{}".utf8))
      #expect(gif["magpie"]?.bytes == Array(#"{"favorite":false,"tags":[]}"#.utf8))
      // The same question in another case is the same question.
      let again = try await world.get("/giphy/v1/gifs/search?limit=3&q=%20cAT%20", as: token)
      #expect(again.cacheStatus == "magpie; hit")
      #expect(again.body == answer.body)
      let tag = try #require(again["ETag"])
      #expect(
        try await world.get("/giphy/v1/gifs/search?q=Cat&limit=3", as: token, [.ifNoneMatch: tag]).status == 304)
      #expect(world.simulator.count("/v1/gifs/search") == 1)
      let request = try #require(world.simulator.log("/v1/gifs/search").first).target
      #expect(request == "/v1/gifs/search?limit=3&offset=0&q=Cat&rating=g&api_key=\(Self.key)")

      let trending = try await world.get("/giphy/v1/stickers/trending", as: token)
      #expect(try items(trending).count == 24)  // the twentieth repeats the one before
      #expect(try trending.json["pagination"]?["count"]?.int == 25)
      #expect(try items(trending).allSatisfy { $0["id"]?.string?.hasPrefix("Stk") == true })
    }
  }

  @Test func `the token may stand where GIPHY's clients put their key`() async throws {
    try await Self.world { world, token in
      #expect(try await world.get("/giphy/v1/gifs/trending?api_key=\(token)", as: nil).status == 200)
      for query in ["", "?api_key=", "?api_key=dc6zaTOxFJmzC", "?api_key=mgp_x"] {
        let answer = try await world.get("/giphy/v1/gifs/trending\(query)", as: nil)
        #expect(answer.status == 401, "\(query)")
        #expect(answer["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
        #expect(try answer.json["meta"]?["msg"]?.string == "Unauthorized")
        #expect(try items(answer).isEmpty)
      }
      #expect(try await world.get("/giphy/v1/gifs/trending?apiKey=\(token)", as: nil).status == 401)
    }
  }

  @Test func `one, several, random and words`() async throws {
    try await Self.world { world, token in
      let id = Simulator.gifID(12_345)
      let one = try await world.get("/giphy/v1/gifs/\(id)", as: token)
      #expect(try one.json["data"]?["id"]?.string == id)
      #expect(try one.json["data"]?["magpie"]?["favorite"]?.bool == false)
      #expect(try one.json["pagination"] == nil)
      let gone = try await world.get("/giphy/v1/gifs/\(Simulator.gifID(1))x", as: token)
      #expect(gone.status == 404)
      #expect(gone.code == "giphy/not-found")
      #expect(try gone.json["meta"]?["status"]?.int == 404)
      #expect(try await world.get("/giphy/v1/gifs/a%2Fb", as: token).status == 404)

      let ids = (1...3).map { Simulator.gifID($0) }
      world.simulator.removeGif(ids[1])
      let several = try await world.get("/giphy/v1/gifs?ids=\(ids.joined(separator: ","))", as: token)
      #expect(Set(try items(several).compactMap { $0["id"]?.string }) == [ids[0], ids[2]])
      let sticker = try await world.get("/giphy/v1/stickers/random?tag=happy", as: token)
      #expect(try sticker.json["data"]?["id"]?.string?.hasPrefix("Stk") == true)
      let nothing = try await world.get("/giphy/v1/gifs/random?tag=nothing", as: token)
      #expect(nothing.status == 200)
      #expect(try items(nothing).isEmpty)
      let words = try await world.get("/giphy/v1/gifs/search/tags?q=ha", as: token)
      #expect(try items(words).map { $0["name"]?.string } == ["ha", "ha 1", "ha 2", "ha 3", "ha 4"])
      let none = try await world.get("/giphy/v1/gifs/search?q=nothing", as: token)
      #expect(none.status == 200)
      #expect(try none.json["pagination"]?["total_count"]?.int == 0)
    }
  }

  @Test func `random is another one each time, or the last when there is none to be had`() async throws {
    try await Self.world { world, token in
      let first = try await world.get("/giphy/v1/gifs/random", as: token)
      try await world.sql("UPDATE magpie.gif_answer SET fetched_at = now() - interval '6 seconds'")
      let second = try await world.get("/giphy/v1/gifs/random", as: token)
      #expect(second.cacheStatus == "magpie; fwd=request")
      #expect(try first.json["data"]?["id"]?.string != second.json["data"]?["id"]?.string)
      world.simulator.add(Fault(.status(502), on: "/v1/gifs/random"))
      try await world.sql("UPDATE magpie.gif_answer SET fetched_at = now() - interval '6 seconds'")
      let third = try await world.get("/giphy/v1/gifs/random", as: token)
      #expect(third.status == 200)
      #expect(third.body == second.body)
      #expect(third.cacheStatus == "magpie; fwd=stale; detail=offline")
    }
  }

  @Test func `the rating is the account's unless the request has one`() async throws {
    try await Self.world { world, token in
      _ = try await world.get("/giphy/v1/gifs/trending", as: token)
      try await world.sql("UPDATE magpie.account SET gif_rating = 'pg-13' WHERE username = 'ann'")
      _ = try await world.get("/giphy/v1/gifs/trending", as: token)
      _ = try await world.get("/giphy/v1/gifs/trending?rating=R", as: token)
      // The same question of somebody else with that rating is answered from what is stored.
      let bob = try await world.token(of: "bob")
      #expect(try await world.get("/giphy/v1/gifs/trending", as: bob).cacheStatus == "magpie; hit")
      let ratings = world.simulator.log("/v1/gifs/trending").compactMap { try? Target($0.target).query["rating"] }
      #expect(ratings == ["g", "pg-13", "r"])
    }
  }

  @Test func `bad input is told, and asks for nothing`() async throws {
    try await Self.world { world, token in
      let long = String(repeating: "é", count: 50)
      #expect(try await world.get("/giphy/v1/gifs/search?q=\(PercentEncoding.encode(long))", as: token).status == 200)
      world.simulator.resetStatistics()
      for (path, pointer) in [
        ("gifs/search", "/q"), ("gifs/search?q=%20", "/q"),
        ("gifs/search?q=\(PercentEncoding.encode(long + "x"))", "/q"),
        ("gifs/trending?rating=x", "/rating"), ("gifs/trending?limit=abc", "/limit"),
        ("gifs/trending?offset=-1", "/offset"),
        ("gifs/search?q=a&lang=%2F%2F", "/lang"), ("gifs", "/ids"), ("gifs?ids=", "/ids"), ("gifs?ids=a%2Fb", "/ids"),
        ("gifs?ids=a,,b", "/ids"), ("gifs?ids=\((0...100).map { "a\($0)" }.joined(separator: ","))", "/ids"),
        ("stickers/search/tags", "/q"), ("gifs/random?tag=\(String(repeating: "a", count: 51))", "/tag"),
      ] {
        let answer = try await world.get("/giphy/v1/\(path)", as: token)
        #expect(answer.status == 422, "\(path)")
        #expect(answer.pointers == [pointer], "\(path)")
        #expect(try answer.json["meta"]?["status"]?.int == 422)
      }
      #expect(world.simulator.requestCount == 0)
      #expect(try await world.send(.post, "/giphy/v1/gifs/trending", as: token, body: "{}").status == 405)
      #expect(try await world.get("/giphy/v1/nothing", as: token).status == 404)
    }
  }

  @Test func `pages are brought into GIPHY's bounds, and end at 4,999`() async throws {
    try await Self.world { world, token in
      _ = try await world.get("/giphy/v1/gifs/trending?limit=1000", as: token)
      _ = try await world.get("/giphy/v1/gifs/trending?limit=0", as: token)
      let last = try await world.get("/giphy/v1/gifs/trending?limit=50&offset=4975", as: token)
      #expect(try last.json["pagination"]?["count"]?.int == 24)
      let beyond = try await world.get("/giphy/v1/gifs/trending?offset=4999", as: token)
      #expect(beyond.status == 200)
      #expect(
        try beyond.json["pagination"]?.bytes == Array(#"{"total_count":0,"count":0,"offset":0}"#.utf8))
      #expect(try items(beyond).isEmpty)
      #expect(try await world.get("/giphy/v1/gifs/search?q=a&offset=99999999999", as: token).status == 200)
      #expect(try await world.get("/giphy/v1/gifs/trending?offset=4999", as: nil).status == 401)
      let limits = world.simulator.log("/v1/gifs/trending").compactMap { try? Target($0.target).query["limit"] }
      #expect(limits == ["50", "1", "24"])
    }
  }

  @Test func `favorites are marked, for the account alone, and found by their words, relay or not`() async throws {
    for key in [Self.key, nil] as [String?] {
      try await Self.world {
        $0.giphyKey = key
      } _: { world, token in
        let id = Simulator.gifID(7_919)
        let put = try await world.send(
          .put, "/v1/favorites/gif/\(id)", as: token,
          body:
            #"{"snapshot":{"title":"Happy Dance GIF by Studio","subtitle":"user41","url":"https://giphy.com/gifs/sim-\#(id)","rating":"g"}}"#
        )
        #expect(put.status == 201)
        for text in ["happy%20dance", "USER41", "giphy.com/gifs/sim"] {
          let found = try await world.get("/v1/favorites?kind=gif&q=\(text)", as: token)
          #expect(try found.json["items"]?.elements.first { _ in true }?["id"]?.string == id, "\(text)")
        }
        #expect(
          try await world.get("/v1/favorites?kind=gif&q=nothing", as: token).json["items"]?.bytes == Array("[]".utf8))
        guard key != nil else { return }
        let bob = try await world.token(of: "bob")
        func mark(_ path: String, _ token: String) async throws -> Bool? {
          let data = try await world.get(path, as: token).json["data"]
          return data?.elements.first { _ in true }?["magpie"]?["favorite"]?.bool ?? data?["magpie"]?["favorite"]?.bool
        }
        for path in ["/giphy/v1/gifs/\(id)", "/giphy/v1/gifs?ids=\(id)"] {
          #expect(try await mark(path, token) == true)
          #expect(try await mark(path, bob) == false)
        }
        #expect(try await world.send(.delete, "/v1/favorites/gif/\(id)", as: token).status == 204)
        #expect(try await mark("/giphy/v1/gifs/\(id)", token) == false)
      }
    }
  }
}
