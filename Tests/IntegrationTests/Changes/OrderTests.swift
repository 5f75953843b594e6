import HTTP
import JSONText
import Postgres
import Testing
import UpstreamSimulator
import WorldSupport

@testable import Magpie

/// Lists sorted and set side by side: the whole of them, whatever the page.
@Suite struct OrderTests {
  private static let followers = "/github/users/octocat/followers"

  /// Both lists walked, and their orders prepared.
  private static func run(
    followers: Int, following: Int, _ body: @escaping @Sendable (ChangeWorld) async throws -> Void
  ) async throws {
    try await ChangeWorld.run(.init("octocat", followers: followers, following: following), perPage: 100) { world in
      try await world.walk(.following)
      try await body(world)
    }
  }

  /// All pages by following `next`.
  private static func all(_ world: ChangeWorld, _ path: String) async throws -> [Int64] {
    var ids: [Int64] = []
    var next: String? = path
    while let path = next {
      let answer = try await world.get(path)
      try #require(answer.status == 200, "\(path) \(answer.text)")
      ids += try answer.ids
      next = answer.links["next"]
      try #require(ids.count < 10_000)
    }
    return ids
  }

  @Test(arguments: [true, false])
  func relationsAreThoseOfTheWholeLists(isPrepared: Bool) async throws {
    try await Self.run(followers: 230, following: 120) { world in
      if !isPrepared { try await world.world.sql("DELETE FROM magpie.list_order") }
      let followers = try world.simulator.followers(of: "octocat")
      let following = try world.simulator.following(of: "octocat")
      let mutual = Set(followers).intersection(following)
      #expect(mutual.count == 60)
      for (path, expected) in [
        ("\(Self.followers)?relation=mutual", followers.filter { mutual.contains($0) }),
        ("\(Self.followers)?relation=not_back", followers.filter { !mutual.contains($0) }),
        ("/github/users/octocat/following?relation=mutual", following.filter { mutual.contains($0) }),
        ("/github/user/583231/following?relation=not_back", following.filter { !mutual.contains($0) }),
      ] {
        #expect(try await Self.all(world, "\(path)&per_page=25") == expected, "\(path)")
        #expect(try await Self.all(world, "\(path)&per_page=25&cursor=") == expected, "\(path)")
        let answer = try await world.get(path)
        #expect(answer["Magpie-Matches"] == "\(expected.count)")
        #expect(Set([answer.coverage, answer["Magpie-Other-Coverage"]]) == ["230/230", "120/120"])
      }
      let logins = followers.filter { mutual.contains($0) }.compactMap { world.simulator.login(of: $0)?.lowercased() }
      for (sort, expected) in [("login", logins.sorted()), ("-login", logins.sorted(by: >))] {
        let ids = try await Self.all(world, "\(Self.followers)?relation=mutual&sort=\(sort)&per_page=7")
        #expect(ids.compactMap { world.simulator.login(of: $0)?.lowercased() } == expected)
      }
      for (set, expected) in [
        ("mutual", followers.filter { mutual.contains($0) }),
        ("not_followed_back", followers.filter { !mutual.contains($0) }),
        ("not_following_back", following.filter { !mutual.contains($0) }),
      ] {
        let json = try await world.get("/github/users/octocat/relations?set=\(set)&per_page=20&page=3").json
        #expect(json["set"]?.string == set && json["count"]?.int == Int64(expected.count))
        #expect(json["items"]?.elements.compactMap { $0["id"]?.int } == Array(expected[40..<60]))
        #expect(json["followers"]?["stored"]?.int == 230 && json["followers"]?["expected"]?.int == 230)
        #expect(json["following"]?["stored"]?.int == 120 && json["following"]?["expected"]?.int == 120)
      }
    }
  }

  @Test(arguments: [true, false])
  func wholeListIsSortedWhateverThePage(isPrepared: Bool) async throws {
    try await Self.run(followers: 230, following: 0) { world in
      // Two came later than the rest.
      for (id, name) in [(7, "aaa"), (8, "zzz")] {
        try world.simulator.add(.init(name, followers: 1, id: Int64(id)))
        try world.simulator.follow("octocat", by: name)
        try await world.walk()
      }
      if !isPrepared { try await world.world.sql("DELETE FROM magpie.list_order") }
      let logins = try world.simulator.followers(of: "octocat").compactMap {
        world.simulator.login(of: $0)?.lowercased()
      }
      for (sort, expected) in [("login", logins.sorted()), ("-login", logins.sorted(by: >))] {
        for style in ["", "&cursor="] {
          let ids = try await Self.all(world, "\(Self.followers)?sort=\(sort)&per_page=33\(style)")
          #expect(ids.compactMap { world.simulator.login(of: $0)?.lowercased() } == expected)
        }
      }
      let oldest = try await Self.all(world, "\(Self.followers)?sort=first_seen&per_page=100")
      #expect(oldest.suffix(2) == [7, 8])
      #expect(try await Self.all(world, "\(Self.followers)?sort=-first_seen&per_page=33") == oldest.reversed())
      let newest = try await world.get("\(Self.followers)?sort=-first_seen&per_page=2").json.elements.map { $0 }
      let seen = newest.compactMap { $0["magpie"]?["first_seen_at"]?.string.flatMap { Timestamp($0) } }
      #expect(seen.count == 2 && seen[0] > seen[1])
      #expect(newest[0]["magpie"]?["favorite"]?.bool == false)
      let last = try await world.get("\(Self.followers)?sort=login&per_page=100&page=3")
      #expect(try last.ids.count == 32 && last.links["next"] == nil)
      #expect(try await world.get("\(Self.followers)?sort=login&page=99").text == "[]")
    }
  }

  @Test(arguments: ["login", "-login", "first_seen", "-first_seen"])
  func textFindsTheSameInEveryOrder(sort: String) async throws {
    try await Self.run(followers: 330, following: 0) { world in
      let matching = try world.simulator.followers(of: "octocat").filter {
        world.simulator.login(of: $0)?.lowercased().contains("an") == true
      }
      try #require(matching.count > 40)
      let path = "\(Self.followers)?q=AN&sort=\(sort)&per_page=7"
      let numbered = try await Self.all(world, path)
      #expect(Set(numbered) == Set(matching) && numbered.count == matching.count)
      #expect(try await Self.all(world, "\(path)&cursor=") == numbered)
      #expect(try await world.get(path)["Magpie-Matches"] == "\(matching.count)")
      try await world.world.sql("DELETE FROM magpie.list_order")
      #expect(try await Self.all(world, path) == numbered)
    }
  }

  @Test func longListIsSearchedAPartAtATime() async throws {
    try await Self.run(followers: 2_300, following: 0) { world in
      let matching = try world.simulator.followers(of: "octocat").filter {
        world.simulator.login(of: $0)?.lowercased().contains("xu") == true
      }
      // Too long to be counted, so the next page is found by its place.
      let first = try await world.get("\(Self.followers)?q=xu&per_page=10")
      #expect(first["Magpie-Matches"] == nil && first.links["next"] != nil && first.links["last"] == nil)
      let found = try await Self.all(world, "\(Self.followers)?q=xu&per_page=10")
      #expect(Set(found) == Set(matching) && found.count == matching.count)
      // What is looked at for one answer has a bound, wherever the next match may be.
      let rows = try await world.world.owner.query(
        """
        SELECT s.place, s.id FROM magpie.list_order o, magpie.scan_order(o.id, false, 150, '%no such%', 0, 10, 5) s
         WHERE o.relation = 'all' AND o.sort = 'login' AND o.members > 0
        """)
      #expect(try rows.decode((Int64, Int64?).self).map { "\($0.0) \($0.1 ?? 0)" } == ["600 0"])
      #expect(
        try await world.world.value(
          "SELECT count(*) FROM magpie.list_order o, magpie.scan_order(o.id, true, 150, '%no such%', 0, 10, 50) s")
          == Int64(0))
    }
  }

  /// A walk that has missed somebody says nothing about them until they have been looked at.
  @Test(arguments: [true, false])
  func whoIsStillToBeLookedAtIsNotSaidToHaveLeft(isPrepared: Bool) async throws {
    try await Self.run(followers: 30, following: 20) { world in
      let followers = try world.simulator.followers(of: "octocat")
      let missed = try #require(try world.simulator.following(of: "octocat").first { followers.contains($0) })
      let prepare: Query = isPrepared ? "SELECT magpie.prepare_orders(l.id) FROM magpie.listing l" : "SELECT 1"
      func relation() async throws -> [Bool] {
        try await world.world.sql("DELETE FROM magpie.list_order")
        try await world.world.sql(prepare)
        var found: [Bool] = []
        for relation in ["mutual", "not_back"] {
          for text in ["", "&q=\(try #require(world.simulator.login(of: missed)))"] {
            found.append(
              try await Self.all(world, "/github/users/octocat/following?relation=\(relation)\(text)").contains(missed))
          }
        }
        return found
      }
      #expect(try await relation() == [true, true, false, false])
      try await world.world.sql(
        """
        WITH ended AS (
          UPDATE magpie.follow_edge e SET gone_generation = l.generation, ended_at = now() FROM magpie.listing l
           WHERE l.id = e.listing_id AND l.kind = 'followers' AND e.member_id = \(missed) RETURNING e.*)
        INSERT INTO magpie.follow_check (listing_id, member_id, first_generation, login, seen_at)
        SELECT listing_id, member_id, first_generation, '', now() FROM ended
        """)
      #expect(try await relation() == [true, true, false, false])
      try await world.world.sql("DELETE FROM magpie.follow_check")
      #expect(try await relation() == [false, false, true, true])
    }
  }

  @Test func whoHasLeftStandsInTheOtherPartAsSoonAsItIsKnown() async throws {
    try await Self.run(followers: 30, following: 20) { world in
      let followers = try world.simulator.followers(of: "octocat")
      let leaver = try #require(try world.simulator.following(of: "octocat").first { followers.contains($0) })
      try world.unfollow(leaver)
      try await world.walk()
      let parts = try await world.world.owner.query(
        """
        SELECT o.relation FROM magpie.list_order o JOIN magpie.listing l ON l.id = o.listing_id
          JOIN magpie.list_order_page p ON p.order_id = o.id
         WHERE l.kind = 'following' AND o.sort = 'upstream' AND o.replaced_at IS NULL AND \(leaver) = ANY (p.ids)
        """
      ).decode(String.self)
      #expect(parts == ["not_back"])
      #expect(try await Self.all(world, "/github/users/octocat/following?relation=not_back").contains(leaver))
    }
  }

  /// Common and rare texts, so that pages come from the order, from the index, and from one after the other.
  @Test(arguments: ["all", "not_back"])
  func longListIsSearchedWholeWhateverTheText(relation: String) async throws {
    try await Self.run(followers: 1_100, following: 30) { world in
      let following = try Set(world.simulator.following(of: "octocat"))
      let people = try world.simulator.followers(of: "octocat")
        .filter { relation == "all" || !following.contains($0) }
        .compactMap { id in world.simulator.login(of: id).map { (id: id, login: $0.lowercased()) } }
      var bearers: [String: [Int64]] = [:]
      for (id, login) in people {
        let letters = Array(login)
        for text in Set(letters.indices.dropLast(2).map { String(letters[$0...$0 + 2]) })
        where text.allSatisfy({ $0.isLetter && $0.isASCII }) {
          bearers[text, default: []].append(id)
        }
      }
      let common = try #require(bearers.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) })
      let rare = try #require(bearers.filter { (4...9).contains($0.value.count) }.min { $0.key < $1.key })
      let condition = relation == "all" ? "" : "&relation=\(relation)"
      let sorts = ["login", "-login", "first_seen", "-first_seen"]
      for (sort, (text, expected)) in sorts.flatMap({ sort in [common, rare].map { (sort, $0) } }) {
        let path = "\(Self.followers)?q=\(text)&sort=\(sort)\(condition)&per_page=\(max(3, expected.count / 5))"
        let numbered = try await Self.all(world, path)
        #expect(Set(numbered) == Set(expected) && numbered.count == expected.count, "\(text)")
        #expect(try await Self.all(world, "\(path)&cursor=") == numbered)
        // A reader goes on where it was when the order is no longer there.
        let first = try await world.get("\(path)&cursor=")
        try await world.world.sql("DELETE FROM magpie.list_order")
        let rest = try await Self.all(world, try #require(first.links["next"]))
        #expect(try first.ids + rest == numbered, "\(text)")
        #expect(try await Self.all(world, path) == numbered)
        try await world.world.sql("SELECT magpie.prepare_orders(l.id) FROM magpie.listing l")
      }
    }
  }

  /// What is found by the index is counted however long the list is; what nobody is called costs no walk through all.
  @Test func rareTextInALongListIsCounted() async throws {
    try await Self.run(followers: 2_300, following: 0) { world in
      let absent = try await world.get("\(Self.followers)?q=nobody-is-called-this")
      #expect(absent.text == "[]" && absent["Magpie-Matches"] == "0" && absent.links["next"] == nil)
      let people = try world.simulator.followers(of: "octocat")
      let last = try #require(people.compactMap { world.simulator.login(of: $0) }.max())
      let one = try await world.get("\(Self.followers)?q=\(last)")
      #expect(one["Magpie-Matches"] == "1" && one.links["next"] == nil)
      #expect(try one.json.elements.compactMap { $0["login"]?.string } == [last])
    }
  }

  /// Rows that a statement of the API reads, as PostgreSQL counts them.
  private static func rowsRead(_ world: ChangeWorld, _ filter: ListFilter) async throws -> Int64 {
    let hash = try #require(Secret(world.token, kind: .token)).hash
    return try await world.world.servers[0].database.transaction { transaction in
      // What earlier transactions of the connection have read may still be counted.
      let counted: Query = """
        SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables
         WHERE relname IN ('list_order', 'list_order_page', 'github_user', 'follow_edge', 'walk_page', 'follow_event')
        """
      let before = try await transaction.query(counted)[0].decode(Int64.self)
      let query = PreparedList.query(.followers, of: .login("octocat"), filter, token: hash)
      let (reading, page) = try PreparedList.read(try await transaction.query(query), filter) { Array($0) }
      guard case .list = reading, page?.list.count == filter.count else {
        Issue.record("no page of \(filter.count)")
        return -1
      }
      return try await transaction.query(counted)[0].decode(Int64.self) - before
    }
  }

  @Test func pageCostsTheSameWhereverItLiesAndHoweverLongTheListIs() async throws {
    var costs: [String: Swift.Set<Int64>] = [:]
    for followers in [300, 2_400] {
      let found = Collected()
      try await Self.run(followers: followers, following: 200) { world in
        for sort in ListFilter.Sort.allCases {
          for page in [0, followers / 200, followers / 100 - 1] {
            var filter = ListFilter()
            filter.sort = sort
            filter.count = 100
            filter.skip = Int64(page) * 100
            found.add("sort", try await Self.rowsRead(world, filter))
          }
        }
        var text = ListFilter()
        text.text = "a"
        text.count = 10
        for place in [0, followers / 2, followers - 100] {
          text.after = [try await Self.orderID(world), String(place), "prepared"]
          found.add("text in \(followers)", try await Self.rowsRead(world, text))
        }
      }
      for (name, rows) in found.all { costs[name, default: []].formUnion(rows) }
    }
    let sort = try #require(costs["sort"])
    // Two prepared pages at most, a hundred people, and a few rows to find them by.
    #expect(try #require(sort.max()) <= 125 && sort.count <= 2, "\(sort)")
    // A few prepared pages, whatever lies behind and before them. Matches of a short list are counted, too.
    let long = try #require(costs["text in 2400"])
    #expect(try #require(long.max()) <= 430, "\(long)")
    let short = try #require(costs["text in 300"])
    #expect(try #require(short.max()) <= 1_030, "\(short)")
  }

  private static func orderID(_ world: ChangeWorld) async throws -> String {
    try await world.world.value(
      """
      SELECT o.id::text FROM magpie.list_order o JOIN magpie.listing l ON l.id = o.listing_id
       WHERE l.kind = 'followers' AND o.relation = 'all' AND o.sort = 'login' AND o.replaced_at IS NULL
      """)
  }

  @Test func sortedReadStaysConsistentWhileTheListIsReadAnew() async throws {
    try await Self.run(followers: 250, following: 0) { world in
      for style in ["", "&cursor="] {
        let path = "\(Self.followers)?sort=login&per_page=50\(style)"
        let before = try await Self.all(world, path)
        let first = try await world.get(path)
        for id in before.prefix(10) { try world.unfollow(id) }
        try await world.order()
        // The walk alone: the orders are those of the list before.
        try await world.driver.runOne()
        #expect(try await Self.all(world, path) == Array(before.dropFirst(10)))
        try await world.driver.runAll()
        #expect(try await Self.all(world, path) == Array(before.dropFirst(10)))
        let rest = try await Self.all(world, try #require(first.links["next"]))
        #expect(try first.ids + rest == before)
      }
    }
  }

  @Test func walkThatChangesNothingLeavesTheOrdersAlone() async throws {
    try await Self.run(followers: 250, following: 20) { world in
      let before: [Int64] = try await world.world.owner.query("SELECT o.id FROM magpie.list_order o ORDER BY o.id")
        .decode(
          Int64.self)
      #expect(before.count == 16)
      for kind in FollowKind.allCases {
        try await world.order(kind)
        #expect(try await world.driver.runOne() == .done)
        #expect(try await world.driver.runOne() == nil)
      }
      let after: [Int64] = try await world.world.owner.query(
        """
        SELECT o.id FROM magpie.list_order o JOIN magpie.listing l ON l.id = o.listing_id AND l.walk_id = o.walk_id
         ORDER BY o.id
        """
      ).decode(Int64.self)
      #expect(after == before)
      #expect(try await world.get("\(Self.followers)?relation=mutual")["Magpie-Matches"] == "10")
    }
  }

  @Test func nonsenseIsRefusedNamingWhatIsAllowed() async throws {
    try await Self.run(followers: 3, following: 3) { world in
      for (path, pointer, allowed) in [
        ("\(Self.followers)?relation=fans", "/relation", "must be one of mutual, not_back"),
        ("\(Self.followers)?relation=", "/relation", "must be one of mutual, not_back"),
        ("\(Self.followers)?sort=", "/sort", "must be one of login, -login, first_seen, -first_seen"),
        (
          "/github/users/octocat/relations?set=fans", "/set",
          "must be one of mutual, not_following_back, not_followed_back"
        ),
        ("/github/users/octocat/relations", "/set", "must be one of mutual, not_following_back, not_followed_back"),
      ] {
        let answer = try await world.get(path)
        #expect(answer.status == 422 && answer.pointers == [pointer], "\(path)")
        #expect(try answer.json["errors"]?.elements.first { _ in true }?["detail"]?.string == allowed)
      }
      let next = try #require(try await world.get("\(Self.followers)?relation=mutual&per_page=1&cursor=").links["next"])
      #expect(next.contains("cursor="))
      let cursor = try #require(Target(String(next.dropFirst(world.world.servers[0].baseURL.count))).query["cursor"])
      for path in [
        "\(Self.followers)?relation=not_back", "\(Self.followers)?sort=login",
        "/github/users/octocat/following?relation=mutual",
      ] {
        #expect(try await world.get("\(path)&cursor=\(cursor)").code == "request/invalid-cursor", "\(path)")
      }
      #expect(try await world.world.get("/github/users/octocat/relations?set=mutual", as: nil).status == 401)
    }
  }

  @Test func relationWaitsForBothListsToBeWhole() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 230, following: 120))) { world in
      let token = try await world.token()
      #expect(
        try await world.get("\(Self.followers)?relation=mutual", as: token, [.cacheControl: "only-if-cached"]).status
          == 504)
      _ = try await world.get(Self.followers, as: token)
      let answer = try await world.get(
        "/github/users/octocat/relations?set=mutual&per_page=100", as: token, [.prefer: "wait=30"])
      #expect(answer.status == 200)
      #expect(try answer.json["count"]?.int == 60)
      #expect(try answer.json["items"]?.elements.map { $0 }.count == 60)
      try await world.untilIdle()
      #expect(try await world.value("SELECT count(*) FROM magpie.list_order") == Int64(16))
    }
  }
}

/// What was found, by name.
private final class Collected: @unchecked Sendable {
  private(set) var all: [String: Swift.Set<Int64>] = [:]
  func add(_ name: String, _ rows: Int64) { all[name, default: []].insert(rows) }
}
