import HTTP
import JSONText
import TestSupport
import Testing
import WorldSupport

/// Stars on photos know what they are about.
@Suite struct PhotoFavoriteTests {
  @Test func `a star on a photo has its title and pictures, also one that came first`() async throws {
    try await TestWorld.run(TestWorld.Options()) { world in
      world.simulator.setPhotoCount(60)
      let token = try await world.token()
      let early = try await world.send(.put, "/v1/favorites/photo/51", as: token)
      #expect(early.status == 201)
      #expect(try early.json["title"]?.string == "")
      let photos = try await world.get("/jsonplaceholder/photos?raw=1", as: nil)
      _ = try await world.get("/jsonplaceholder/albums", as: nil)
      let items = Array(try photos.json.elements)
      for (id, path) in [(51, "/v1/favorites/photo/51"), (7, "/v1/favorites/photo/7")] {
        if id == 7 { #expect(try await world.send(.put, path, as: token).status == 201) }
        let favorite = try await world.get(path, as: token).json
        let photo = items[id - 1]
        #expect(favorite["title"]?.string == photo["title"]?.string)
        let shown = try await world.get("/jsonplaceholder/photos/\(id)", as: nil).json
        let base = world.servers[0].baseURL
        #expect(shown["url"]?.string == base + (favorite["url"]?.string ?? "none"))
        #expect(shown["thumbnailUrl"]?.string == base + (favorite["image"]?.string ?? "none"))
        #expect(favorite["snapshot"]?["albumId"]?.int == photo["albumId"]?.int)
        #expect(favorite["state"]?.string == "ok")
      }
      // It stays readable, and says when the photo is called otherwise.
      world.simulator.renamePhoto(7, to: "another title")
      try await world.sql("SELECT admin.refresh('photos:all')")
      try await world.untilIdle()
      let renamed = try await world.get("/v1/favorites/photo/7", as: token).json
      #expect(renamed["title"]?.string == "another title")
      #expect(renamed["state"]?.string == "renamed")
      // One that is not there is kept as it is.
      #expect(try await world.send(.put, "/v1/favorites/photo/999", as: token).status == 201)
    }
  }
}
