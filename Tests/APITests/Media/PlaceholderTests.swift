import HTTP
import Testing
import WorldSupport

/// Pictures drawn for the occasion.
@Suite struct PlaceholderTests {
  @Test func `a picture is the same for ever and for everybody`() async throws {
    var options = TestWorld.Options()
    options.hasWorker = false
    try await TestWorld.run(options) { world in
      let picture = try await world.get("/images/placeholder/600/92c952.png", as: nil)
      #expect(picture.status == 200)
      #expect(picture["Content-Type"] == "image/png")
      #expect(picture["Cache-Control"] == "public, max-age=31536000, immutable")
      #expect(picture["X-Content-Type-Options"] == "nosniff")
      #expect(picture["Content-Security-Policy"]?.contains("sandbox") == true)
      #expect(picture["Cross-Origin-Resource-Policy"] == "cross-origin")
      #expect(picture.body.count < 300)
      let tag = try #require(picture["ETag"])
      let again = try await world.get("/images/placeholder/600/92C952.png", as: nil)
      #expect(again.body == picture.body)
      #expect(again["ETag"] == tag)
      #expect(try await world.get("/images/placeholder/600/92c952.png", as: nil, [.ifNoneMatch: tag]).status == 304)
      let head = try await world.send(.head, "/images/placeholder/600/92c952.png", as: nil)
      #expect(head["Content-Length"] == String(picture.body.count))
      #expect(head.body == [])
      for size in ["1", "2000", "1x2000", "640x480"] {
        #expect(try await world.get("/images/placeholder/\(size)/000000.png", as: nil).status == 200, "\(size)")
      }
      for size in [
        "0", "-1", "2001", "1000000000", "600x", "x600", "600x0", "6.5", "600x600x600", "abc", "+600", "0600",
      ] {
        let answer = try await world.get("/images/placeholder/\(size)/92c952.png", as: nil)
        #expect(answer.status == 422, "\(size)")
        #expect(answer.pointers == ["/size"])
      }
      for file in [
        "92c952", "92c95.png", "92c9522.png", "92c95g.png", "92c952.gif", ".png", "%23ffffff.png", "+2c952.png",
      ] {
        let answer = try await world.get("/images/placeholder/600/\(file)", as: nil)
        #expect(answer.status == 422, "\(file)")
        #expect(answer.pointers == ["/file"])
      }
      #expect(try await world.get("/images/placeholder/600/", as: nil).status == 404)
      #expect(try await world.send(.delete, "/images/placeholder/600/92c952.png", as: nil).status == 405)
    }
  }
}
