import HTTP
import Testing

@testable import UpstreamSimulator

@Suite struct ValidatorTests {
  @Test func knownTagIsAnsweredNotModifiedAndFreeWithAToken() async throws {
    try await Bench.run { bench async throws in
      let first = try await bench.get("/users/octocat/followers")
      #expect(first.rate == "5000 4999 1 core")
      let tag = try #require(first.fields[.etag])
      #expect(tag.hasPrefix("\"") && tag.utf8.count > 32)
      #expect(first.fields[.lastModified] == nil)
      let second = try await bench.get("/users/octocat/followers", ["If-None-Match": tag])
      #expect(second.status == 304)
      #expect(second.body == [])
      #expect(second.fields[.etag] == tag)
      #expect(second.links == [:])
      #expect(second.rate == "5000 4999 1 core")
    }
  }

  @Test func anonymousNotModifiedCounts() async throws {
    try await Bench.run { bench async throws in
      let first = try await bench.get("/users/octocat", token: nil)
      #expect(first.rate == "60 59 1 core")
      let second = try await bench.get(
        "/users/octocat", token: nil, ["If-None-Match": try #require(first.fields[.etag])])
      #expect(second.status == 304)
      #expect(second.rate == "60 58 2 core")
    }
  }

  @Test func tagBelongsToOnePageAndOneCredential() async throws {
    try await Bench.run { bench async throws in
      let tag = try #require(try await bench.get("/users/octocat/followers").fields[.etag])
      #expect(try await bench.get("/users/octocat/followers?page=2", ["If-None-Match": tag]).status == 200)
      #expect(try await bench.get("/users/octocat/followers", token: "other", ["If-None-Match": tag]).status == 200)
      #expect(try await bench.get("/users/octocat/followers", token: nil, ["If-None-Match": tag]).status == 200)
      #expect(try await bench.get("/users/octocat/followers", token: "tok-2", ["If-None-Match": tag]).status == 304)
    }
  }

  @Test func tagIsWeakWhenTheClientTakesGzip() async throws {
    try await Bench.run { bench async throws in
      let strong = try #require(try await bench.get("/users/octocat").fields[.etag])
      let answer = try await bench.get("/users/octocat", ["Accept-Encoding": "gzip"])
      #expect(answer.fields[.etag] == "W/\(strong)")
      #expect(answer.fields[.contentEncoding] == nil)
      #expect(try await bench.get("/users/octocat", ["If-None-Match": "W/\(strong)"]).status == 304)
    }
    for (form, prefix) in [(Simulator.Configuration.EntityTags.weak, "W/\""), (.strong, "\"")] {
      try await Bench.run(configure: { $0.entityTags = form }) { bench async throws in
        for fields in [[:], ["Accept-Encoding": "gzip"]] as [Fields] {
          #expect(try await bench.get("/users/octocat", fields).fields[.etag]?.hasPrefix(prefix) == true)
        }
      }
    }
  }

  @Test func changeGivesANewTagAndANewDate() async throws {
    try await Bench.run { bench async throws in
      let first = try await bench.get("/users/octocat")
      let fields: Fields = ["If-Modified-Since": try #require(first.fields[.lastModified])]
      #expect(try await bench.get("/users/octocat", fields).status == 304)
      try bench.simulator.edit("octocat", name: "The Octocat")
      let second = try await bench.get("/users/octocat", fields)
      #expect(second.status == 200)
      #expect(try second.json()["name"]?.string == "The Octocat")
      #expect(second.fields[.lastModified] == "Thu, 01 Jan 2026 00:00:00 GMT")
      #expect(second.fields[.etag] != first.fields[.etag])
    }
  }

  @Test func followerChangesTheListsTagsAndTheCount() async throws {
    try await Bench.run { bench async throws in
      let tag = try #require(try await bench.get("/users/octocat/followers").fields[.etag])
      try bench.simulator.churnOnce("octocat")
      let answer = try await bench.get("/users/octocat/followers", ["If-None-Match": tag])
      #expect(answer.status == 200)
      #expect(try await bench.get("/users/octocat").json()["followers"]?.int == 1241)
    }
  }

  @Test func answersSayWhoMayKeepThem() async throws {
    try await Bench.run { bench async throws in
      let own = try await bench.get("/users/octocat")
      #expect(own.fields[.cacheControl] == "private, max-age=60, s-maxage=60")
      #expect(
        own.fields[values: .vary]
          == ["Accept, Authorization, Cookie, X-GitHub-OTP", "Accept-Encoding, Accept, X-Requested-With"])
      #expect(
        try await bench.get("/users/octocat", token: nil).fields[.cacheControl] == "public, max-age=60, s-maxage=60")
    }
  }
}
