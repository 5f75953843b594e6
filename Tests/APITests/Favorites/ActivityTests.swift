import HTTP
import JSONText
import Testing
import UpstreamSimulator
import WorldSupport

/// What apps count, and the widget that shows it.
@Suite struct ActivityTests {
  @Test func whatIsCopiedIsCounted() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      let bob = try await world.token(of: "bob")
      let empty = try await world.get("/v1/widget", as: token)
      #expect(empty.text == #"{"favorites":0,"copied":0,"latest":null}"#)
      for count in 1...2 {
        let answer = try await world.send(
          .post, "/v1/activity", as: token, body: #"{"kind": "copied", "subject": "gif:abc"}"#)
        #expect(answer.status == 200 && answer.text == #"{"kind":"copied","count":\#(count)}"#)
      }
      #expect(
        try await world.send(.post, "/v1/activity", as: token, body: #"{"kind": "opened", "subject": "photo/1"}"#)
          .status == 200)
      _ = try await world.send(
        .put, "/v1/favorites/gif/abc", as: token, body: #"{"snapshot": {"title": "Cat", "image": "https://i"}}"#)
      let widget = try await world.get("/v1/widget", as: token)
      #expect(try widget.json["favorites"]?.int == 1)
      #expect(try widget.json["copied"]?.int == 2)
      #expect(try widget.json["latest"]?["title"]?.string == "Cat")
      #expect(try widget.json["latest"]?["image"]?.string == "https://i")
      #expect(try await world.get("/v1/widget", as: token, [.ifNoneMatch: widget[.etag] ?? ""]).status == 304)
      #expect(try await world.get("/v1/widget", as: bob).body == empty.body)

      // Whatever the newest is called.
      let controls = String(repeating: "\\u0001", count: 500)
      let address = String(repeating: "\\\"", count: 2_000)
      let body =
        #"{"snapshot": {"title": "\#(controls)", "subtitle": "\#(controls)", "url": "\#(address)", "image": "\#(address)"}}"#
      let id = String(repeating: "%22", count: 200)
      #expect(try await world.send(.put, "/v1/favorites/gif/\(id)", as: token, body: body).status == 201)
      for long in [#"{"snapshot": {"title": "\#(controls)", "url": "\#(String(repeating: "\\u0002", count: 300))"}}"#] {
        #expect(try await world.send(.put, "/v1/favorites/gif/z", as: token, body: long).status == 201)
        let small = try await world.get("/v1/widget", as: token)
        #expect(small.status == 200 && small.body.count <= 2_000, "\(small.body.count)")
      }
      try await world.sql("DELETE FROM magpie.favorite WHERE subject_id = 'z'")
      let small = try await world.get("/v1/widget", as: token)
      #expect(small.status == 200 && small.body.count <= 2_000, "\(small.body.count)")
    }
  }

  @Test func nonsenseIsRefused() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for (body, pointers) in [
        ("{}", ["/kind", "/subject"]), (#"{"kind": "eaten", "subject": "gif:a"}"#, ["/kind"]),
        (#"{"kind": "copied", "subject": "gif"}"#, ["/subject"]),
        (#"{"kind": "copied", "subject": "movie:1"}"#, ["/subject"]),
        (#"{"kind": "copied", "subject": "photo:x"}"#, ["/subject"]),
        (#"{"kind": "copied", "subject": 1}"#, ["/subject"]),
        (#"{"kind": "copied", "subject": "gif:\#(String(repeating: "a", count: 201))"}"#, ["/subject"]),
        (#"{"kind": "copied", "subject": "gif:a", "when": 1}"#, ["/when"]),
      ] {
        let answer = try await world.send(.post, "/v1/activity", as: token, body: body)
        #expect(answer.status == 422 && answer.pointers == pointers, "\(body): \(answer.text)")
      }
      let good = #"{"kind": "copied", "subject": "gif:\#(String(repeating: "a", count: 200))"}"#
      #expect(try await world.send(.post, "/v1/activity", as: token, body: good).status == 200)
      #expect(try await world.send(.post, "/v1/activity", as: nil, body: good).status == 401)
      #expect(try await world.get("/v1/widget", as: nil).status == 401)
      let reader = try await world.token(scopes: ["read"])
      #expect(try await world.send(.post, "/v1/activity", as: reader, body: good).status == 403)
      #expect(try await world.get("/v1/widget", as: reader).status == 200)
    }
  }
}
