import HTTP
import TestSupport
import Testing
import UpstreamSimulator
import WorldSupport

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
      #expect(try (0...600).contains(#require(running.json["eta_seconds"]?.int)))
      let budget = try #require(try running.json["budget"])
      #expect(budget["resource"]?.string == "core" && budget["limit"]?.int == 5_000)
      #expect(budget["remaining"]?.int == 4_998)
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
      #expect(try done.json["eta_seconds"]?.isNull == true && done.json["budget"] == nil)
      for id in ["0", "-1", "x", "99999999999999999999", "1.0"] {
        #expect(try await world.get("/v1/jobs/\(id)", as: ann).status == 404, "\(id)")
      }
      #expect(try await world.get(job, as: nil).status == 401)
    }
  }

  @Test func jobThatNobodyWantsAnyMoreEndsAndWhatItHasReadStays() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 350))) { world async throws in
      let ann = try await world.token()
      let bob = try await world.token(of: "bob")
      world.simulator.hold("/user/*/followers?page=2")
      let path = "/github/users/octocat/followers?per_page=100"
      let job = try #require(try await world.get(path, as: ann)["Magpie-Job"])
      await world.simulator.waitUntilHeld()
      #expect(try await world.send(.delete, job, as: bob).status == 404)
      #expect(try await world.get(path, as: bob)["Magpie-Job"] == job)
      let first = try await world.send(.delete, job, as: ann)
      #expect(first.status == 204 && first.body.isEmpty)
      // It is not this account's any more, and goes on for the other.
      #expect(try await world.send(.delete, job, as: ann).status == 404)
      #expect(try await world.get(job, as: ann).status == 404)
      #expect(try await world.get(job, as: bob).json["state"]?.string == "running")
      #expect(try await world.send(.delete, job, as: bob).status == 204)
      world.simulator.release()
      try await eventually("the job has ended") { try await world.value("SELECT count(*) FROM magpie.job") == Int64(0) }
      #expect(try await world.value("SELECT d.state::text FROM magpie.job_done d") == "cancelled")
      // The third page was asked for while the second one was stored.
      #expect(world.simulator.count("/user/*/followers?page=4") == 0)
      let stored = try await world.get(path, as: ann, [.cacheControl: "only-if-cached"])
      #expect(try stored.status == 200 && (stored.ids.count) == 100 && stored.coverage?.hasSuffix("/400") == true)
      #expect(try await world.send(.delete, "/v1/jobs/x", as: ann).status == 404)
      #expect(try await world.send(.delete, "/v1/jobs/1", as: nil).status == 401)
    }
  }

  @Test func errorsOfJobsAreCodesOnly() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 250))) { world async throws in
      let token = try await world.token()
      world.simulator.add(Fault(.status(502), on: "/**"))
      let answer = try await world.get("/github/users/octocat", as: token)
      let job = try await world.get(try #require(answer["Magpie-Job"]), as: token)
      #expect(try job.json["error"]?.string == "upstream/offline")
      // It is tried again by itself.
      #expect(try #require(try job.json["attempt"]?.int) >= 1)
      // With the space: digits alone may stand in a time.
      #expect(!job.text.contains(" 502"))
    }
  }
}
