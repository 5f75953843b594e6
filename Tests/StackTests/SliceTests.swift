import HTTP
import JSONText
import Testing

/// The way of a client app through the composed service: cold read, warm read, whole list, favorites of two accounts.
@Suite(.enabled(if: Stack.present?.hasOperator == false, Stack.absence), .serialized)
struct SliceTests {
  private static let followers = "/github/users/octocat/followers"

  @Test func `an unknown list is fetched while the client waits, and is a hit afterwards`() async throws {
    try await Visitor.with { visitor async throws in
      let profile = try await visitor.get("/github/users/octocat", ["Prefer": "wait=30"])
      #expect(profile.status == 200)
      #expect(try profile.json["login"]?.string == "octocat")
      #expect(try profile.json["url"]?.string == visitor.stack.url + "/github/users/octocat")

      let first = try await visitor.get(Self.followers + "?per_page=30", ["Prefer": "wait=30"])
      #expect(first.status == 200)
      #expect(try first.json.elements.count(where: { _ in true }) == 30)
      #expect(first.fields["Magpie-Coverage"]?.hasSuffix("/1240") == true)

      let second = try await visitor.get(Self.followers + "?per_page=30")
      #expect(second.status == 200)
      #expect(second.fields["Cache-Status"]?.hasPrefix("magpie; hit") == true)
      #expect(try second.json.elements.first(where: { _ in true })?["magpie"]?["favorite"]?.bool == false)

      let tag = try #require(second.fields["ETag"])
      let again = try await visitor.get(Self.followers + "?per_page=30", ["If-None-Match": tag])
      #expect(again.status == 304)
      #expect(again.body.isEmpty)
    }
  }

  @Test func `a client that follows next sees the whole list, each member once`() async throws {
    try await Visitor.with { visitor async throws in
      var ids: [Int64] = []
      var page: String? = Self.followers + "?per_page=100"
      // 1,240 members on pages of 100; anything beyond would be a loop of links.
      for _ in 0..<14 {
        guard let path = page else { break }
        let answer = try await visitor.get(path, ["Prefer": "wait=30"])
        try #require(answer.status == 200)
        ids += try answer.json.elements.compactMap { $0["id"]?.int }
        page = answer.link("next")
      }
      #expect(page == nil)
      #expect(ids.count == 1240)
      #expect(Set(ids).count == 1240)

      let whole = try await visitor.get(Self.followers + "?per_page=1")
      #expect(whole.fields["Magpie-Coverage"] == "1240/1240")
    }
  }

  @Test func `an unknown user is a problem that GitHub's clients can read`() async throws {
    try await Visitor.with { visitor async throws in
      let answer = try await visitor.get("/github/users/nobody-of-this-name-0", ["Prefer": "wait=30"])
      #expect(answer.status == 404)
      #expect(answer.fields["Content-Type"]?.hasPrefix("application/problem+json") == true)
      #expect(try answer.json["message"]?.string == "Not Found")
    }
  }

  @Test func `without a good token nothing is shown`() async throws {
    try await Visitor.with { visitor async throws in
      for path in [Self.followers, "/github/users/octocat", "/v1/favorites"] {
        for token in [nil, "mgp_0000000000000000000000000000000000000"] {
          let answer = try await visitor.with(token: token).get(path)
          #expect(answer.status == 401, "\(path)")
          #expect(answer.fields["WWW-Authenticate"] != nil)
        }
      }
    }
  }

  @Test func `a favorite is the account's own`() async throws {
    let id = try await Visitor.with { visitor async throws in
      let profile = try await visitor.get("/github/users/octocat", ["Prefer": "wait=30"])
      let id = try #require(try profile.json["id"]?.int)
      let favorite = "/v1/favorites/github-user/\(id)"
      #expect([200, 201].contains(try await visitor.send(.put, favorite, body: "{}").status))
      #expect(try await visitor.send(.put, favorite, body: "{}").status == 200)
      #expect(try await visitor.favoriteIDs() == ["\(id)"])
      let marked = try await visitor.get("/github/users/octocat")
      #expect(try marked.json["magpie"]?["favorite"]?.bool == true)
      return id
    }
    try await Visitor.with(account: 1) { other async throws in
      #expect(try await other.favoriteIDs() == [])
      #expect(try await other.get("/v1/favorites/github-user/\(id)").status == 404)
      let unmarked = try await other.get("/github/users/octocat")
      #expect(try unmarked.json["magpie"]?["favorite"]?.bool == false)
    }
    try await Visitor.with { visitor async throws in
      #expect(try await visitor.send(.delete, "/v1/favorites/github-user/\(id)").status == 204)
      #expect(try await visitor.favoriteIDs() == [])
    }
  }

  @Test func `an invitation is good once and leads to sessions`() async throws {
    try await Visitor.with { visitor async throws in
      let nobody = visitor.with(token: nil)
      let redeem = #"{"code":"\#(visitor.stack.invitation)","password":"correct horse battery"}"#
      let first = try await nobody.send(.post, "/v1/invitations/redeem", body: redeem)
      #expect(first.status == 201)
      let username = try #require(try first.json["account"]?["username"]?.string)
      #expect((400..<500).contains(try await nobody.send(.post, "/v1/invitations/redeem", body: redeem).status))

      let credentials = #"{"username":"\#(username)","password":"correct horse battery"}"#
      let session = try await nobody.send(.post, "/v1/sessions", body: credentials)
      #expect(session.status == 201)
      let token = try #require(try session.json["token"]?.string)
      #expect(try await visitor.with(token: token).get("/v1/favorites").status == 200)
      let wrong = credentials.replacing("battery", with: "staple")
      #expect(try await nobody.send(.post, "/v1/sessions", body: wrong).status == 401)
    }
  }
}

extension Visitor {
  /// Ids of the account's favorites, newest first.
  func favoriteIDs() async throws -> [String] {
    let answer = try await get("/v1/favorites")
    try #require(answer.status == 200)
    let items = try #require(try answer.json["items"])
    return items.elements.compactMap { $0["id"]?.string }
  }
}
