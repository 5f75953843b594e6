import HTTP
import Testing
import UpstreamSimulator
import WorldSupport

/// The list of favorites: filters, orders, and paging through all of it.
@Suite struct FavoriteListTests {
  private static func items(_ world: TestWorld, _ query: String, _ token: String) async throws -> [String] {
    var ids: [String] = []
    var cursor: String?
    var pages = 0
    repeat {
      let tail = cursor.map { "&cursor=\($0)" } ?? ""
      let answer = try await world.get("/v1/favorites?\(query)\(tail)", as: token)
      try #require(answer.status == 200, "\(answer.text)")
      ids += try #require(try answer.json["items"]).elements.compactMap { $0["id"]?.string }
      cursor = try answer.json["next"]?.string
      pages += 1
      try #require(pages < 1_000)
    } while cursor != nil
    return ids
  }

  /// Half of them added at one moment; titles with accents, signs, and every length.
  private static func run(_ body: @escaping @Sendable (TestWorld, String) async throws -> Void) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      try await world.sql(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id, title, tags, rank, note, added_at)
        SELECT a.id, CASE WHEN n % 3 = 0 THEN 'photo' ELSE 'github-repo' END, n::text,
               CASE n % 5 WHEN 0 THEN 'Émile' WHEN 1 THEN 'zebra ' || n WHEN 2 THEN '' WHEN 3 THEN repeat('💥"', 250) ELSE 'Alpha' END,
               CASE WHEN n % 10 = 0 THEN '{ten,even}'::text[] WHEN n % 2 = 0 THEN '{even}' ELSE '{}' END,
               CASE WHEN n % 4 = 0 THEN '' ELSE chr(64 + n % 60) END, 'n' || n || '_%',
               '2026-01-01'::timestamptz + make_interval(secs => CASE WHEN n <= 125 THEN 0 ELSE n * 0.000001 END)
          FROM magpie.account a, generate_series(1, 250) AS n
        """)
      // Somebody else's are never among them.
      _ = try await world.token(of: "bob")
      try await world.sql(
        """
        INSERT INTO magpie.favorite (account_id, kind, subject_id, title)
        SELECT a.id, 'photo', (1000 + n)::text, 'Alpha' FROM magpie.account a, generate_series(1, 5) AS n WHERE a.username = 'bob'
        """)
      try await body(world, token)
    }
  }

  @Test(arguments: ["added", "-added", "title", "rank"])
  func pagingShowsEachOnceInOrder(sort: String) async throws {
    try await Self.run { world, token async throws in
      let whole = try await Self.items(world, "sort=\(sort)&limit=200", token)
      #expect(whole.count == 250)
      #expect(Set(whole) == Set((1...250).map(String.init)))
      for limit in [1, 7, 50, 125] {
        if limit == 1, sort != "title" { continue }
        #expect(try await Self.items(world, "sort=\(sort)&limit=\(limit)", token) == whole, "\(limit)")
      }
      switch sort {
      case "added":
        #expect(Array(whole.suffix(125)) == (126...250).map(String.init))
        // Equal moments: by kind, then by id as text.
        let items = (1...125).map { id -> (kind: String, id: String) in (id % 3 == 0 ? "photo" : "github-repo", "\(id)")
        }
        let equal = items.sorted { ($0.kind, $0.id) < ($1.kind, $1.id) }.map(\.id)
        #expect(Array(whole.prefix(125)) == equal)
      case "-added": #expect(Array(whole.prefix(125)) == (126...250).reversed().map(String.init))
      default: break
      }
    }
  }

  @Test func filtersNarrow() async throws {
    try await Self.run { world, token async throws in
      #expect(try await Self.items(world, "kind=photo&limit=10", token).count == 83)
      #expect(try await Self.items(world, "tag=ten&limit=10", token).count == 25)
      #expect(try await Self.items(world, "tag=te", token).isEmpty)
      #expect(try await Self.items(world, "q=%C3%89MILE&limit=20", token).count == 50)
      #expect(try await Self.items(world, "q=alpha&kind=photo&tag=even&limit=3", token).count == 8)
      #expect(try await Self.items(world, "q=n25_%25", token) == ["25"])
      for text in ["%", "_", "x%", "%\u{308}"] {
        // Accents make no difference, and a sign that is left without one is no wildcard either.
        let count = text == "x%" ? 0 : 250
        #expect(
          try await Self.items(world, "limit=200&q=\(PercentEncoding.encode(text))", token).count == count, "\(text)")
      }
    }
  }

  @Test func listIsReadableWhileItChanges() async throws {
    try await Self.run { world, token async throws in
      let first = try await world.get("/v1/favorites?sort=added&limit=100", as: token)
      let next = try #require(try first.json["next"]?.string)
      try await world.sql("DELETE FROM magpie.favorite WHERE subject_id IN ('1', '249')")
      let second = try await world.get("/v1/favorites?sort=added&limit=200&cursor=\(next)", as: token)
      let ids = try #require(try second.json["items"]).elements.compactMap { $0["id"]?.string }
      #expect(ids.count == 149)
      #expect(!ids.contains("249"))
    }
  }

  @Test func cursorsBelongToOneAccountAndOneFilter() async throws {
    try await Self.run { world, token async throws in
      let bob = try await world.token(of: "bob")
      let cursor = try #require(try await world.get("/v1/favorites?limit=3&kind=photo", as: token).json["next"]?.string)
      #expect(try await world.get("/v1/favorites?limit=9&kind=photo&cursor=\(cursor)", as: token).status == 200)
      for (query, reader) in [
        ("kind=photo", bob), ("kind=gif", token), ("", token), ("kind=photo&q=a", token),
        ("kind=photo&sort=added", token),
        ("kind=photo&tag=x", token),
      ] {
        let answer = try await world.get("/v1/favorites?\(query)&cursor=\(cursor)", as: reader)
        #expect(answer.status == 400 && answer.code == "request/invalid-cursor", "\(query)")
      }
      for query in [
        "limit=0", "limit=-1", "limit=x", "sort=down", "kind=movie", "q=\(String(repeating: "a", count: 201))",
      ] {
        let answer = try await world.get("/v1/favorites?\(query)", as: token)
        #expect(answer.status == 422 && answer.pointers == ["/\(query.prefix { $0 != "=" })"], "\(query)")
      }
      let items = try #require(try await world.get("/v1/favorites?limit=1000", as: token).json["items"])
      #expect(items.elements.reduce(0) { count, _ in count + 1 } == 200)
    }
  }
}
