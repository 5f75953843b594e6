import HTTP
import Testing
import UpstreamSimulator

/// Jobs as those see them who asked for them.
@Suite struct JobEndpointTests {
  @Test func jobIsShownToItsAskersOnly() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world async throws in
      let ann = try await world.token()
      let bob = try await world.token(of: "bob")
      world.simulator.hold("/user/*/followers?page=2")
      let first = try await world.get("/github/users/octocat/followers?per_page=100", as: ann)
      let job = try #require(first["Magpie-Job"])
      await world.simulator.waitUntilHeld()
      let running = try await world.get(job, as: ann)
      #expect(running.status == 200)
      #expect(try running.json["state"]?.string == "running")
      #expect(try running.json["pages_done"]?.int == 1)
      #expect(try running.json["pages_expected"]?.int == 3)
      #expect(try running.json["error"]?.isNull == true)
      #expect(try running.json["finished_at"]?.isNull == true)
      let foreign = try await world.get(job, as: bob, ["X-Request-Id": "same"])
      let never = try await world.get("/v1/jobs/999999", as: bob, ["X-Request-Id": "same"])
      #expect(foreign.status == 404 && foreign.code == "jobs/not-found")
      #expect(foreign.body == never.body)
      // Whoever asks for the same list has asked for the same job.
      #expect(try await world.get("/github/users/octocat/followers", as: bob)["Magpie-Job"] == job)
      #expect(try await world.get(job, as: bob).status == 200)
      world.simulator.release()
      try await world.untilIdle()
      let done = try await world.get(job, as: ann)
      #expect(try done.json["state"]?.string == "completed")
      #expect(try done.json["pages_done"]?.int == 3)
      #expect(try done.json["finished_at"]?.string?.hasSuffix("Z") == true)
      for id in ["0", "-1", "x", "99999999999999999999", "1.0"] {
        #expect(try await world.get("/v1/jobs/\(id)", as: ann).status == 404, "\(id)")
      }
      #expect(try await world.get(job, as: nil).status == 401)
    }
  }

  @Test func errorsOfJobsAreCodesOnly() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world async throws in
      let token = try await world.token()
      world.simulator.add(Fault(.status(502), on: "/**"))
      let answer = try await world.get("/github/users/octocat", as: token)
      let job = try await world.get(try #require(answer["Magpie-Job"]), as: token)
      #expect(try job.json["error"]?.string == "upstream/offline")
      #expect(try job.json["attempt"]?.int == 1)
      // With the space: digits alone may stand in a time.
      #expect(!job.text.contains(" 502"))
    }
  }
}
