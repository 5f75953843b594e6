import HTTP
import JSONText
import Magpie
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

/// `/jsonplaceholder` as its clients see it.
@Suite struct PhotoTests {
  private static func world(
    _ adjust: (inout TestWorld.Options) -> Void = { _ in }, _ body: @Sendable (TestWorld) async throws -> Void
  ) async throws {
    var options = TestWorld.Options()
    adjust(&options)
    try await TestWorld.run(options) { world in
      // Few enough to be read over and over.
      world.simulator.setPhotoCount(120)
      try await body(world)
    }
  }

  @Test func `all photos are fetched once, and answered to everybody`() async throws {
    try await Self.world { world in
      let first = try await world.get("/jsonplaceholder/photos", as: nil)
      #expect(first.status == 200)
      #expect(first.cacheStatus == "magpie; fwd=miss")
      #expect(try first.ids == Array(1...120))
      #expect(first["Content-Type"] == "application/json; charset=utf-8")
      #expect(first["Cache-Control"] == "public, no-cache")
      #expect(first["X-Total-Count"] == nil)
      #expect(first["Magpie-Job"] == nil)
      let base = world.servers[0].baseURL
      let photo = try #require(try Array(first.json.elements).first)
      #expect(photo.members.map(\.key) == ["albumId", "id", "title", "url", "thumbnailUrl"])
      let url = try #require(photo["url"]?.string)
      #expect(url.hasPrefix("\(base)/images/placeholder/600/"))
      #expect(photo["thumbnailUrl"]?.string == url.replacing("/600/", with: "/150/"))

      let again = try await world.get("/jsonplaceholder/photos/", as: nil)
      #expect(again.cacheStatus == "magpie; hit")
      #expect(again.body == first.body)
      #expect(again["ETag"] == first["ETag"])
      let tag = try #require(again["ETag"])
      let unchanged = try await world.get("/jsonplaceholder/photos", as: nil, [.ifNoneMatch: tag])
      #expect(unchanged.status == 304)
      #expect(unchanged.body == [])
      let head = try await world.send(.head, "/jsonplaceholder/photos", as: nil)
      #expect(head.status == 200)
      #expect(head["Content-Length"] == String(first.body.count))
      #expect(world.simulator.requestCount == 1)
    }
  }

  @Test func `a second fetch costs one answer without a body`() async throws {
    try await Self.world { world in
      _ = try await world.get("/jsonplaceholder/photos", as: nil)
      let age: () async throws -> Void = {
        try await world.sql(
          "UPDATE magpie.photo_set SET validated_at = now() - interval '1 day', fetched_at = now() - interval '1 day'")
      }
      try await age()
      let stale = try await world.get("/jsonplaceholder/photos", as: nil)
      #expect(stale.cacheStatus == "magpie; fwd=stale; detail=refreshing")
      let seconds = try #require(stale["Age"].flatMap { Int($0) })
      #expect((86_400...86_460).contains(seconds))
      try await world.untilIdle()
      #expect(world.simulator.count("/photos", status: 304) == 1)
      #expect(try await world.get("/jsonplaceholder/photos", as: nil).cacheStatus == "magpie; hit")
      // What has changed comes with the next one, all at once and under another tag.
      world.simulator.renamePhoto(7, to: "another \"title\"")
      try await age()
      let waited = try await world.get(
        "/jsonplaceholder/photos", as: nil, [.cacheControl: "no-cache", .prefer: "wait=20"])
      #expect(waited.cacheStatus == "magpie; fwd=request")
      #expect(try Array(waited.json.elements)[6]["title"]?.string == "another \"title\"")
      #expect(waited["ETag"] != stale["ETag"])
      #expect(world.simulator.count("/photos", status: 200) == 2)
      // Strangers who pull again at once are given what came a moment ago.
      _ = try await world.get("/jsonplaceholder/photos", as: nil, [.cacheControl: "no-cache", .prefer: "wait=20"])
      #expect(world.simulator.count("/photos") == 3)
    }
  }

  @Test func `an administrator refreshes by subject, and sees how fresh everything is`() async throws {
    try await Self.world { world in
      try await world.sql("SELECT admin.refresh('photos:all'), admin.refresh('albums:all', 'interactive')")
      try await world.untilIdle()
      let fresh: [String] = try await world.owner.query(
        "SELECT f.subject || ' ' || f.members FROM admin.freshness f ORDER BY 1"
      ).decode(String.self)
      #expect(fresh == ["albums:all 3", "photos:all 120"])
      let albums = try await world.get("/jsonplaceholder/albums", as: nil)
      #expect(albums.cacheStatus == "magpie; hit")
      #expect(try albums.ids == [1, 2, 3])
      await #expect(throws: (any Error).self) { try await world.sql("SELECT admin.refresh('photos:some')") }
    }
  }

  @Test func `single items and the photos of an album`() async throws {
    try await Self.world { world in
      let photo = try await world.get("/jsonplaceholder/photos/51", as: nil)
      #expect(photo.status == 200)
      #expect(try photo.json["albumId"]?.int == 2)
      #expect(try await world.get("/jsonplaceholder/photos/51/", as: nil).body == photo.body)
      #expect(try await world.get("/jsonplaceholder/albums/3/", as: nil).json["userId"]?.int == 1)
      #expect(try await world.get("/jsonplaceholder/albums/2/photos", as: nil).ids == Array(51...100))
      #expect(try await world.get("/jsonplaceholder/albums/2/photos/?_limit=2&albumId=1", as: nil).ids == [51, 52])
      #expect(try await world.get("/jsonplaceholder/albums/77/photos", as: nil).text == "[]")
      for id in ["121", "0", "051", "x", "5%2F1"] {
        let answer = try await world.get("/jsonplaceholder/photos/\(id)", as: nil)
        #expect(answer.status == 404, "\(id)")
        #expect(answer.code == "photos/not-found")
      }
      let raw = try await world.get("/jsonplaceholder/photos/51?raw=1", as: nil)
      #expect(try raw.json["url"]?.string?.hasPrefix("https://via.placeholder.com/600/") == true)
    }
  }

  @Test func `pages have links to their neighbors, and say how many items there are`() async throws {
    try await Self.world { world in
      let base = "\(world.servers[0].baseURL)/jsonplaceholder/photos"
      let page = try await world.get("/jsonplaceholder/photos?_page=2&_limit=50&_sort=id&_order=desc", as: nil)
      #expect(try page.ids == (21...70).reversed())
      #expect(page["X-Total-Count"] == "120")
      #expect(
        page.links == [
          "first": "\(base)?_page=1&_limit=50&_sort=id&_order=desc",
          "prev": "\(base)?_page=1&_limit=50&_sort=id&_order=desc",
          "next": "\(base)?_page=3&_limit=50&_sort=id&_order=desc",
          "last": "\(base)?_page=3&_limit=50&_sort=id&_order=desc",
        ])
      let pages = try await world.pages(from: "/jsonplaceholder/photos?_page=1&_limit=7", as: nil)
      #expect(try pages.flatMap { try $0.ids } == Array(1...120))
      let beyond = try await world.get("/jsonplaceholder/photos?_page=99", as: nil)
      #expect(beyond.text == "[]")
      #expect(beyond["X-Total-Count"] == "120")
      #expect(beyond["Link"] == nil)
      let filtered = try await world.get("/jsonplaceholder/photos?albumId=3&albumId=1&_start=48&_end=52", as: nil)
      #expect(try filtered.ids == [49, 50, 101, 102])
      #expect(filtered["X-Total-Count"] == "70")
      #expect(try await world.get("/jsonplaceholder/photos?nosuchfield=x&_sort=nosuchfield", as: nil).ids.count == 120)
      let refused = try await world.get("/jsonplaceholder/photos?title_like=(a%2B)%2B$", as: nil)
      #expect(refused.status == 422)
      #expect(refused.pointers == ["/title_like"])
      let tag = try #require(filtered["ETag"])
      #expect(
        try await world.get(
          "/jsonplaceholder/photos?albumId=3&albumId=1&_start=48&_end=52", as: nil, [.ifNoneMatch: tag]
        ).status == 304)
    }
  }

  @Test func `with a token each photo says what the account has to do with it`() async throws {
    try await Self.world { world in
      let ann = try await world.token()
      let bob = try await world.token(of: "bob")
      #expect(try await world.send(.put, "/v1/favorites/photo/3", as: ann, body: #"{"tags":["wall"]}"#).status == 201)
      for path in ["/jsonplaceholder/photos", "/jsonplaceholder/photos?_limit=5"] {
        let answer = try await world.get(path, as: ann)
        #expect(answer["Cache-Control"] == "private, no-cache")
        let items = Array(try answer.json.elements)
        #expect(items[2]["magpie"]?.bytes == Array(#"{"favorite":true,"tags":["wall"]}"#.utf8))
        #expect(items[3]["magpie"]?.bytes == Array(#"{"favorite":false,"tags":[]}"#.utf8))
      }
      #expect(try await world.get("/jsonplaceholder/photos/3", as: ann).json["magpie"]?["favorite"]?.bool == true)
      #expect(try await world.get("/jsonplaceholder/photos/3", as: bob).json["magpie"]?["favorite"]?.bool == false)
      #expect(try await world.get("/jsonplaceholder/photos/3", as: nil).json["magpie"] == nil)
      #expect(try await world.get("/jsonplaceholder/albums/1", as: ann).json["magpie"] == nil)
      #expect(try await world.get("/jsonplaceholder/photos", as: "mgp_nobody").status == 401)
    }
  }

  private static let troubles: [Fault.Effect] = [
    .status(503), .html(200), .invalidJSON, .truncatedJSON, .otherShape, .idsAsStrings, .shortList, .cut, .reset,
    .deepJSON(depth: 1_000), .redirect("/elsewhere"), .status(429), .status(404),
  ]

  @Test func `a broken or short answer never replaces what is stored`() async throws {
    try await Self.world { world in
      let good = try await world.get("/jsonplaceholder/photos", as: nil)
      world.simulator.renamePhoto(1, to: "changed")
      for effect in Self.troubles {
        world.simulator.clearFaults()
        world.simulator.add(Fault(effect, on: "/photos"))
        try await world.sql("UPDATE magpie.photo_set SET validated_at = now() - interval '1 day'")
        let during = try await world.get("/jsonplaceholder/photos", as: nil, [.prefer: "wait=5"])
        #expect(during.status == 200)
        #expect(during.body == good.body, "\(effect)")
        #expect(during.cacheStatus?.hasPrefix("magpie; fwd=stale; detail=") == true, "\(effect)")
        #expect(try await world.value("SELECT s.expected FROM magpie.photo_set s WHERE s.name = 'photos'") == 120)
        try await world.sql("DELETE FROM magpie.job")
        try await world.sql("UPDATE magpie.credential SET blocked_until = '-infinity', bucket_at = now()")
      }
      #expect(world.simulator.count("/photos") >= 1 + Self.troubles.count)
    }
  }

  @Test func `with nothing stored and the service away there is a clear error, and later everything`() async throws {
    try await Self.world { world in
      world.simulator.add(Fault(.status(502), on: "/photos"))
      let away = try await world.get("/jsonplaceholder/photos", as: nil)
      #expect(away.status == 503)
      #expect(away.code == "upstream/offline")
      #expect(away["Retry-After"] != nil)
      #expect(
        try await world.get("/jsonplaceholder/photos", as: nil, [.cacheControl: "only-if-cached"]).code
          == "mirror/not-stored")
      world.simulator.clearFaults()
      try await world.makeJobsDue()
      try await world.untilIdle()
      #expect(try await world.get("/jsonplaceholder/photos", as: nil).ids.count == 120)
      // And without the service, for ever.
      world.simulator.add(Fault(.reset, on: "/photos"))
      #expect(try await world.get("/jsonplaceholder/photos?_page=3", as: nil).ids == Array(21...30))
    }
  }

  @Test func `the service may shrink when an administrator says so`() async throws {
    try await Self.world { world in
      _ = try await world.get("/jsonplaceholder/photos", as: nil)
      world.simulator.setPhotoCount(50)
      try await world.sql("UPDATE magpie.photo_set SET expected = 0")
      try await world.sql("SELECT admin.refresh('photos:all')")
      try await world.untilIdle()
      #expect(try await world.get("/jsonplaceholder/photos", as: nil).ids == Array(1...50))
      #expect(try await world.get("/jsonplaceholder/photos/51", as: nil).status == 404)
    }
  }

  @Test func `servers that share a database answer the same, and many who ask at once cause one request`() async throws
  {
    try await Self.world {
      $0.servers = 2
    } _: { world in
      world.simulator.hold("/photos")
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for number in 0..<12 {
          group.addTask {
            try await world.get("/jsonplaceholder/photos?raw=1", as: nil, [.prefer: "wait=30"], to: number % 2)
          }
        }
        try await world.untilWaiting(12)
        world.simulator.release()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(answers.map(\.body)).count == 1)
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(world.simulator.count("/photos") == 1)
    }
  }
}
