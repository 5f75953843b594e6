import EventLoop
import HTTP
import JSONText
import Synchronization
import TestSupport
import Testing
import WorldSupport

/// `/v1/stream`: what happens is told, to all devices, once each, and to nobody else.
@Suite struct StreamTests {
  private static func options(_ change: (inout TestWorld.Options) -> Void = { _ in }) -> TestWorld.Options {
    var options = TestWorld.Options()
    options.hasWorker = false
    change(&options)
    return options
  }

  private static func put(_ world: TestWorld, _ id: Int, as token: String, to server: Int = 0) async throws {
    let answer = try await world.send(.put, "/v1/favorites/photo/\(id)", as: token, body: #"{"note": "n"}"#, to: server)
    #expect(answer.status == 201 || answer.status == 200)
  }

  private static func account(_ world: TestWorld, _ name: String = "ann") async throws -> Int64 {
    try await world.value("SELECT a.id FROM magpie.account a WHERE a.username = \(name)")
  }

  @Test func whoHasAskedForAJobIsToldHowItGoesOn() async throws {
    try await TestWorld.run(Self.options { $0.hasWorker = true }) { world in
      try world.simulator.add(.init("crowded", followers: 250))
      let (ann, phone, bob) = (
        try await world.token(), try await world.token(), try await world.token(of: "bob")
      )
      let devices = try [ann, phone].map { try EventClient(world.servers[0].baseURL, as: $0) }
      let foreign = try EventClient(world.servers[0].baseURL, as: bob)
      for stream in devices + [foreign] { try await stream.opened() }
      let order = try await world.send(
        .post, "/github/users/crowded/refresh", as: ann, body: #"{"what": ["followers"]}"#)
      #expect(order.status == 202)
      for stream in devices {
        try await stream.until { $0.events(named: "job").last?.data.contains(#""state":"completed""#) == true }
        let job = try #require(stream.events(named: "job").last)
        let id = try #require(try JSONView(Array(job.data.utf8))["id"]?.int)
        #expect(job.id == nil)
        // What an event tells is what the job's own page says, which has the budget only as long as the job needs it.
        #expect(try await world.send(.get, "/v1/jobs/\(id)", as: ann).text == job.data)
        #expect(try JSONView(Array(job.data.utf8))["pages_done"]?.int == 3)
      }
      // The foreign stream is alive, and has heard of nothing.
      try await Self.put(world, 1, as: bob)
      try await foreign.until { !$0.events(named: "favorites").isEmpty }
      #expect(foreign.events(named: "job").isEmpty)
    }
  }

  @Test func everyDeviceHearsOfEveryWrite() async throws {
    // No polling within the test's time: what is heard was told.
    try await TestWorld.run(
      Self.options {
        $0.servers = 2; $0.pollInterval = .seconds(600)
      }
    ) { world in
      let (ann, phone, bob) = (
        try await world.token(), try await world.token(), try await world.token(of: "bob")
      )
      let here = try EventClient(world.servers[0].baseURL, as: ann)
      let there = try EventClient(world.servers[1].baseURL, as: phone)
      let foreign = try EventClient(world.servers[0].baseURL, as: bob)
      for stream in [here, there, foreign] { try await stream.opened() }
      #expect(here.status == 200)
      #expect(here.events[0] == EventClient.Event(name: "ping", id: 0, data: #"{"version":0}"#))
      try await Self.put(world, 1, as: ann)
      _ = try await world.send(
        .post, "/v1/sync", as: phone,
        body:
          #"{"since": 0, "changes": [{"op": "put", "kind": "gif", "id": "x"}, {"op": "delete", "kind": "photo", "id": "1"}]}"#,
        to: 1)
      // By hand, told by the database.
      let account = try await Self.account(world)
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id, note) VALUES (\(account), 'photo', '9', E'a\nb')")
      for stream in [here, there] {
        try await stream.until { $0.events(named: "favorites").last?.id == 4 }
        let events = stream.events(named: "favorites")
        #expect(events.last?.id == 4)
        #expect(events.map(\.id) == events.map(\.id).sorted { $0! < $1! })
        #expect(Set(events.map(\.id)).count == events.count)
        let last = try JSONView(Array(try #require(events.last).data.utf8))
        #expect(last["id"]?.string == "9" && last["note"]?.string == "a\nb" && last["version"]?.int == 4)
        let deleted = try JSONView(Array(try #require(events.first { $0.id == 3 }).data.utf8))
        #expect(deleted["deleted"]?.bool == true && deleted["id"]?.string == "1")
      }
      foreign.read()
      #expect(foreign.events(named: "favorites").isEmpty)
      try await Self.put(world, 5, as: bob)
      try await foreign.until { $0.events(named: "favorites").count == 1 }
      #expect(world.servers[0].hub.counts.open == 2)
      #expect(world.servers[0].hub.counts.sent >= 4)
    }
  }

  @Test func whatNobodyToldIsFoundAllTheSame() async throws {
    try await TestWorld.run(Self.options { $0.pollInterval = .milliseconds(50) }) { world in
      let ann = try await world.token()
      let stream = try EventClient(world.servers[0].baseURL, as: ann)
      try await stream.opened()
      let account = try await Self.account(world)
      try await world.sql("ALTER TABLE magpie.account DISABLE TRIGGER changed")
      try await world.sql(
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) VALUES (\(account), 'photo', '9')")
      try await stream.until { $0.events(named: "favorites").map(\.id) == [1] }
    }
  }

  @Test func streamGoesOnWhereItWasCut() async throws {
    try await TestWorld.run(Self.options()) { world in
      let ann = try await world.token()
      let base = world.servers[0].baseURL
      let total = 300
      let writer = Task {
        for id in 1...total { try await Self.put(world, id, as: ann) }
      }
      var random = SystemRandomNumberGenerator()
      var seen: [Int64] = []
      var last: Int64 = 0
      var cuts = 0
      while seen.count < total || cuts < 100 {
        let stream = try EventClient(base, as: ann, lastEventID: last)
        let wanted = Int.random(in: 0...6, using: &random)
        if seen.count + wanted <= total {
          try await stream.until { $0.events(named: "favorites").count >= wanted && !$0.events.isEmpty }
        } else {
          try await stream.opened()
          stream.read(atMost: Int.random(in: 1...4_000, using: &random))
        }
        // What came as a part of an event did not come.
        let events = stream.events(named: "favorites")
        seen += events.compactMap(\.id)
        last = events.last?.id ?? last
        cuts += 1
      }
      try await writer.value
      #expect(seen == Array(1...Int64(total)), "after \(cuts) cuts")
      let rest = try EventClient(base, as: ann, lastEventID: 290, query: "?last_event_id=3")
      try await rest.until { $0.events(named: "favorites").count == 10 }
      let parameter = try EventClient(base, as: ann, query: "?last_event_id=298")
      try await parameter.until { $0.events(named: "favorites").map(\.id) == [299, 300] }
      try await eventually { world.servers[0].hub.counts.open == 2 }
    }
  }

  @Test func streamsEndWithTheirSession() async throws {
    try await TestWorld.run(
      Self.options {
        $0.pingInterval = .milliseconds(100); $0.pollInterval = .milliseconds(20)
      }
    ) { world in
      let (ann, other) = (try await world.token(), try await world.token())
      let streams = try [ann, other].map { try EventClient(world.servers[0].baseURL, as: $0) }
      for stream in streams { try await stream.until { $0.events(named: "ping").count >= 3 } }
      try await world.sql(
        "UPDATE magpie.session s SET revoked_at = now() WHERE s.token_hash = sha256(convert_to(\(ann), 'UTF8'))")
      try await streams[0].until("it ends") { $0.isOver }
      #expect(streams[0].events(named: "resync").isEmpty)
      let pings = streams[1].events(named: "ping").count
      try await streams[1].until { $0.events(named: "ping").count > pings + 2 }
      try await world.sql("SELECT admin.disable_account('ann', 'test')")
      try await streams[1].until("it ends") { $0.isOver }
    }
  }

  @Test func drainAndHorizonAreTold() async throws {
    try await TestWorld.run(Self.options()) { world in
      let ann = try await world.token()
      let base = world.servers[0].baseURL
      try await Self.put(world, 1, as: ann)
      try await Self.put(world, 2, as: ann)
      _ = try await world.send(.delete, "/v1/favorites/photo/1", as: ann)
      try await world.sql("UPDATE magpie.favorite_tombstone SET recorded_at = now() - interval '181 days'")
      try await world.sql("SELECT magpie.forget_deletions('180 days')")
      for cursor: Int64 in [2, 99] {
        let late = try EventClient(base, as: ann, lastEventID: cursor)
        try await late.until { $0.events(named: "resync").count == 1 }
        let resync = late.events(named: "resync")[0]
        #expect(resync.id == 3)
        #expect(resync.data == #"{"reason":"expired","resync_url":"/v1/sync?since=0"}"#)
        #expect(!late.isOver)
      }
      let current = try EventClient(base, as: ann, lastEventID: 3)
      try await current.opened()
      world.servers[0].hub.drain()
      try await current.until("it ends") { $0.isOver }
      #expect(current.events.last?.data == #"{"reason":"drain","resync_url":"/v1/sync?since=3"}"#)
      let tooLate = try EventClient(base, as: ann)
      try await tooLate.until("it ends") { $0.isOver }
      #expect(tooLate.events.map(\.name) == ["ping", "resync"])
    }
  }

  @Test func badRequestsAreRefused() async throws {
    try await TestWorld.run(Self.options()) { world in
      let ann = try await world.token()
      #expect(try await world.get("/v1/stream", as: nil).status == 401)
      #expect(try await world.get("/v1/stream", as: String(ann.dropLast()) + "x").status == 401)
      for id in ["-1", "x", "99999999999999999999"] {
        let answer = try await world.get("/v1/stream?last_event_id=\(id)", as: ann)
        #expect(answer.status == 422 && answer.pointers == ["/last_event_id"], "\(id)")
      }
      let many = try (0..<101).map { _ in try EventClient(world.servers[0].baseURL, as: ann) }
      try await eventually {
        for stream in many { stream.read() }
        return many.allSatisfy { $0.status != nil }
      }
      #expect(many.filter { $0.status == 200 }.count == 100)
      #expect(many.filter { $0.status == 429 }.count == 1)
    }
  }

  @Test func clientThatDoesNotReadIsCut() async throws {
    try await TestWorld.run(Self.options()) { world in
      let ann = try await world.token()
      let lazy = try EventClient(world.servers[0].baseURL, as: ann, receiveBuffer: 4_096)
      let eager = try EventClient(world.servers[0].baseURL, as: ann)
      try await lazy.opened()
      try await eager.opened()
      let note = String(repeating: "x", count: 9_000)
      let account = try await Self.account(world)
      // More than the kernel takes for both sides, 64 KiB of the connection, and 256 KiB of the queue.
      for round in 1...400 where world.servers[0].hub.counts.slow == 0 {
        try await world.sql(
          """
          INSERT INTO magpie.favorite (account_id, kind, subject_id, note)
          SELECT \(account), 'photo', i::text, \(note) FROM generate_series(\(round * 10), \(round * 10 + 9)) i
          """)
        let total = Int64(round * 10)
        try await eager.until { $0.lastID == total }
      }
      #expect(world.servers[0].hub.counts.slow == 1)
      try await lazy.until("it ends") { $0.isOver }
      let given = lazy.events(named: "favorites").compactMap(\.id)
      #expect(given.count > 10 && given == Array(1...Int64(given.count)))
      #expect(lazy.events.last?.data == "{\"reason\":\"slow\",\"resync_url\":\"/v1/sync?since=\(given.count)\"}")
      #expect(!eager.isOver)
    }
  }
}
