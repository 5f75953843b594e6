import HTTP
import HTTPServer
import Testing
import UpstreamSimulator
import WorldSupport

@testable import Magpie
@testable import MagpieAPI

/// `GET /github/avatars/{id}` and `GET /images/{sha256}`.
@Suite struct AvatarTests {
  /// A PNG's head, as far as anybody looks at it.
  static func png(_ width: UInt32, _ height: UInt32, _ rest: [UInt8] = []) -> [UInt8] {
    func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width) + big(height)
      + [8, 2, 0, 0, 0, 0, 0, 0, 0] + rest
  }

  /// A world with one person whose picture is at a host of the test's own.
  private func withPicture(
    at path: String = "/u/1?v=4", isListed: Bool = true,
    _ body: @Sendable (TestWorld, PictureHost, _ token: String, _ id: Int64) async throws -> Void
  ) async throws {
    try await PictureHost.run { host in
      var options = TestWorld.Options(.init("octo-cat", followers: 1))
      if isListed { options.avatarHosts = [host.baseURL] }
      try await TestWorld.run(options) { world in
        let token = try await world.token()
        let profile = try await world.get("/github/users/octo-cat", as: token)
        let id = try #require(try profile.json["id"]?.int)
        try await world.sql("UPDATE magpie.github_user SET avatar_url = \(host.baseURL + path) WHERE id = \(id)")
        try await body(world, host, token, id)
      }
    }
  }

  @Test func pictureIsFetchedOnceInTheSizeAskedForAndKept() async throws {
    try await withPicture(at: "/u/1?v=4") { world, host, token, id in
      let bytes = Self.png(80, 80, [1, 2, 3])
      host.answer(bytes)
      let first = try await world.get("/github/avatars/\(id)?s=80", as: token)
      #expect(first.status == 200, "\(first.text)")
      #expect(first.body == bytes)
      #expect(first[.contentType] == "image/png")
      let name = Digest.sha256(bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(first[.etag] == "\"\(name)\"")
      #expect(first["Content-Location"] == "/images/\(name)")
      #expect(first[.cacheControl] == "private, max-age=300, stale-while-revalidate=86400")
      #expect(host.visits.entries.map(\.target) == ["/u/1?v=4&s=80"])
      #expect(host.visits.entries[0].authorization == nil && host.visits.entries[0].referrer == nil)

      let second = try await world.get("/github/avatars/\(id)", as: token)
      #expect(second.body == bytes && second.cacheStatus == "magpie; hit")
      let same = try await world.get("/github/avatars/\(id)", as: token, [.ifNoneMatch: "\"\(name)\""])
      #expect(same.status == 304 && same.body.isEmpty)
      #expect(host.visits.entries.count == 1)
      // Another size is another picture, and the same bytes are kept once.
      #expect(try await world.get("/github/avatars/\(id)?s=460", as: token).status == 200)
      #expect(host.visits.entries.last?.target == "/u/1?v=4&s=460")
      #expect(try await world.value("SELECT count(*) FROM magpie.image") == Int64(1))

      // By its content it is there for everybody and for ever.
      let image = try await world.get("/images/\(name)", as: nil)
      #expect(image.status == 200 && image.body == bytes)
      #expect(image[.cacheControl] == "public, max-age=31536000, immutable")
      #expect(image[.etag] == "\"\(name)\"")
      for answer in [first, image] {
        #expect(answer[.xContentTypeOptions] == "nosniff")
        #expect(answer[.contentSecurityPolicy] == "default-src 'none'; sandbox; frame-ancestors 'none'")
        #expect(answer[.crossOriginResourcePolicy] == "same-origin")
        #expect(answer[.contentDisposition] == "inline; filename=\"\(name.prefix(8)).png\"")
      }
      let head = try await world.send(.head, "/images/\(name)", as: nil)
      #expect(head.status == 200 && head[.contentLength] == String(bytes.count))
    }
  }

  @Test func aStalePictureIsShownAndAskedForWithItsValidator() async throws {
    try await withPicture { world, host, token, id in
      host.answer(Self.png(80, 80), "image/png", [.etag: "\"v1\""])
      let first = try await world.get("/github/avatars/\(id)", as: token)
      #expect(first.status == 200)
      host.answer { request in
        request[.ifNoneMatch] == "\"v1\""
          ? Response(.notModified, [.etag: "\"v1\""]) : Response(.internalServerError)
      }
      try await world.sql("UPDATE magpie.avatar SET validated_at = now() - interval '25 hours'")
      let stale = try await world.get("/github/avatars/\(id)", as: token)
      #expect(stale.body == first.body && stale.cacheStatus == "magpie; fwd=stale")
      try await world.untilIdle()
      #expect(host.visits.entries.map(\.condition) == [nil, "\"v1\""])
      #expect(try await world.get("/github/avatars/\(id)", as: token).cacheStatus == "magpie; hit")
      // Another address is another picture, without the old one's validator.
      try await world.sql(
        "UPDATE magpie.github_user SET avatar_url = \(host.baseURL + "/u/1?u=new&v=4") WHERE id = \(id)")
      host.answer(Self.png(40, 40))
      let fresh = try await world.get(
        "/github/avatars/\(id)", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(fresh.body == Self.png(40, 40))
      #expect(host.visits.entries.last?.condition == nil)
    }
  }

  @Test func initialsAreDrawnWhileThereIsNoPicture() async throws {
    try await withPicture { world, host, token, id in
      let drawn = try await world.get("/github/avatars/\(id)?s=160", as: token)
      #expect(drawn.status == 200)
      #expect(drawn[.contentType] == "image/svg+xml")
      #expect(drawn.text.contains(">OC</text>") && drawn.text.contains("width=\"160\""))
      #expect(drawn[.contentSecurityPolicy] == "default-src 'none'; sandbox; frame-ancestors 'none'")
      #expect(drawn[.xContentTypeOptions] == "nosniff")
      #expect(drawn[.cacheControl] == "private, max-age=60")
      // The same person has the same drawing, and a host that has none is left alone for an hour.
      let again = try await world.get("/github/avatars/\(id)?s=160", as: token)
      #expect(again.body == drawn.body && again[.etag] == drawn[.etag])
      #expect(host.visits.entries.count == 1)
      try await world.sql("UPDATE magpie.avatar SET failed_at = now() - interval '61 minutes'")
      host.answer(Self.png(160, 160))
      let first = try await world.get("/github/avatars/\(id)?s=160", as: token)
      #expect(first[.contentType] == "image/png")
    }
  }

  /// What a hostile host can say. None of it is stored, none of it is shown, and the host is not asked again at once.
  @Test func hostileAnswersAreNeitherStoredNorShown() async throws {
    try await withPicture { world, host, token, id in
      let html = Array("<html><script>alert(1)</script></html>".utf8)
      let svg = Array("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".utf8)
      let scripts: [(String, PictureHost.Script)] = [
        ("HTML named PNG", { _ in Response(.ok, [.contentType: "image/png"], .bytes(html)) }),
        ("HTML", { _ in Response(.ok, [.contentType: "text/html"], .bytes(html)) }),
        ("SVG", { _ in Response(.ok, [.contentType: "image/svg+xml"], .bytes(svg)) }),
        ("a wrong type", { _ in Response(.ok, [.contentType: "image/gif"], .bytes(Self.png(1, 1))) }),
        ("no type", { _ in Response(.ok, [:], .bytes(Self.png(1, 1))) }),
        ("a pixel bomb", { _ in Response(.ok, [.contentType: "image/png"], .bytes(Self.png(100_000, 100_000))) }),
        (
          "a coding",
          { _ in
            Response(.ok, [.contentType: "image/png", .contentEncoding: "gzip"], .bytes(Self.png(1, 1)))
          }
        ),
        (
          "too much",
          { _ in
            Response(
              .ok, [.contentType: "image/png"],
              .bytes(Self.png(1, 1, [UInt8](repeating: 0, count: 2_097_152))))
          }
        ),
        (
          "no end",
          { _ in
            Response(
              .ok, [.contentType: "image/png"],
              .stream { stream in
                try await stream.write(Self.png(1, 1))
                let piece = [UInt8](repeating: 0, count: 65_536)
                while true { try await stream.write(piece) }
              })
          }
        ),
        ("nothing", { _ in Response(.ok, [.contentType: "image/png"], .bytes([])) }),
        ("an answer to no question", { _ in Response(.notModified) }),
        ("a circle", { request in Response(.found, [.location: request.target.description]) }),
        ("loopback", { _ in Response(.found, [.location: "http://127.0.0.1:1/x.png"]) }),
        ("a private host over HTTPS", { _ in Response(.found, [.location: "https://169.254.169.254/latest"]) }),
        ("a file", { _ in Response(.movedPermanently, [.location: "file:///etc/passwd"]) }),
        ("nowhere", { _ in Response(.found) }),
      ]
      for (what, script) in scripts {
        host.answer(script)
        try await world.sql("DELETE FROM magpie.avatar")
        let answer = try await world.get("/github/avatars/\(id)", as: token, [.prefer: "wait=30"])
        #expect(answer.status == 200, "\(what)")
        #expect(answer[.contentType] == "image/svg+xml", "\(what)")
        #expect(answer.text.contains(">OC</text>") && !answer.text.contains("script"), "\(what)")
        #expect(try await world.value("SELECT count(*) FROM magpie.image") == Int64(0), "\(what)")
        #expect(try await world.value("SELECT failure IS NOT NULL FROM magpie.avatar") == true, "\(what)")
        let count = host.visits.entries.count
        _ = try await world.get("/github/avatars/\(id)", as: token)
        #expect(host.visits.entries.count == count, "\(what)")
      }
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
    }
  }

  @Test func redirectsAreFollowedOnTheListOnly() async throws {
    try await withPicture { world, host, token, id in
      host.answer { request in
        request.target.description.hasPrefix("/u/1")
          ? Response(.found, [.location: "/elsewhere.png"])
          : Response(.ok, [.contentType: "image/png"], .bytes(Self.png(80, 80)))
      }
      let followed = try await world.get("/github/avatars/\(id)", as: token)
      #expect(followed[.contentType] == "image/png")
      #expect(host.visits.entries.map(\.target) == ["/u/1?v=4&s=80", "/elsewhere.png"])
    }
  }

  @Test func hostsThatAreNotOnTheListAreNeverAsked() async throws {
    try await withPicture(isListed: false) { world, host, token, id in
      host.answer(Self.png(80, 80))
      let refused = try await world.get("/github/avatars/\(id)", as: token)
      #expect(refused[.contentType] == "image/svg+xml")
      for address in [
        "https://avatars.githubusercontent.com.evil.example/u/1", "https://evil.example/u/1", "file:///etc/passwd",
        "https://user@avatars.githubusercontent.com/u/1", "javascript:alert(1)", "",
      ] {
        try await world.sql("DELETE FROM magpie.avatar")
        try await world.sql("UPDATE magpie.github_user SET avatar_url = \(address) WHERE id = \(id)")
        let answer = try await world.get("/github/avatars/\(id)", as: token, [.prefer: "wait=30"])
        #expect(answer[.contentType] == "image/svg+xml", "\(address)")
      }
      #expect(host.visits.entries.isEmpty)
      #expect(try await world.value("SELECT count(*) FROM magpie.image") == Int64(0))
    }
  }

  @Test func theLastGoodPictureIsShownWhileTheHostIsInTrouble() async throws {
    try await withPicture { world, host, token, id in
      host.answer(Self.png(80, 80))
      #expect(try await world.get("/github/avatars/\(id)", as: token).status == 200)
      let scripts: [PictureHost.Script] = [
        { _ in Response(.serviceUnavailable) }, { _ in Response(.tooManyRequests, [.retryAfter: "60"]) },
        { _ in Response(.ok, [.contentType: "image/png"], .bytes(Array("<html>".utf8))) },
      ]
      for script in scripts {
        host.answer(script)
        let answer = try await world.get(
          "/github/avatars/\(id)", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
        #expect(answer.body == Self.png(80, 80))
        try await world.sql("DELETE FROM magpie.job")
      }
      // A host that says that there is none is believed.
      host.answer { _ in Response(.notFound) }
      let gone = try await world.get(
        "/github/avatars/\(id)", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(gone[.contentType] == "image/svg+xml")
    }
  }

  @Test func somebodyNeverSeenIsLookedUpFirst() async throws {
    var options = TestWorld.Options(.init("octocat", followers: 1))
    options.simulator.servesAvatars = true
    try await TestWorld.run(options) { world in
      let token = try await world.token()
      let answer = try await world.get("/github/avatars/583231?s=40", as: token)
      #expect(answer.status == 200)
      #expect(answer[.contentType] == "image/gif")
      #expect(world.simulator.log().map(\.target) == ["/user/583231", "/avatars/u/583231?v=4&s=40"])
      let unknown = try await world.get("/github/avatars/987654321", as: token)
      #expect(unknown.status == 404 && unknown.code == "github/user-not-found")
    }
  }

  /// Nothing can be noted of a picture that is nobody's, and whoever was forgotten is not asked for either.
  @Test(arguments: [true, false])
  func somebodyForgottenIsNobodyAndIsNotAskedFor(wasSeen: Bool) async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      if wasSeen { #expect(try await world.get("/github/users/octocat", as: token).status == 200) }
      let _: Bool = try await world.value("SELECT admin.forget_subject('github-user', 583231)")
      let count = world.simulator.requestCount
      let answer = try await world.get("/github/avatars/583231", as: token, [.prefer: "wait=30"])
      #expect(answer.status == 404 && answer.code == "github/user-not-found", "\(answer.text)")
      #expect(world.simulator.requestCount == count)
      #expect(try await world.value("SELECT count(*) FROM magpie.job") == Int64(0))
    }
  }

  /// Forgotten by an administrator while GitHub is asked who they are.
  @Test func somebodyForgottenMeanwhileIsNobody() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      world.simulator.hold("/user/583231")
      async let asked = world.get("/github/avatars/583231", as: token, [.prefer: "wait=30"])
      await world.simulator.waitUntilHeld()
      let _: Bool = try await world.value("SELECT admin.forget_subject('github-user', 583231)")
      world.simulator.release()
      let answer = try await asked
      #expect(answer.status == 404 && answer.code == "github/user-not-found", "\(answer.text)")
      #expect(world.simulator.count("/user/583231") == 1)
      #expect(try await world.value("SELECT count(*) FROM magpie.github_user") == Int64(0))
    }
  }

  @Test func whySomebodyNeverSeenCannotBeShownIsSaid() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 3))) { world in
      let token = try await world.token()
      let path = "/github/avatars/583231"
      world.simulator.add(Fault(.status(503), on: "/**"))
      let gate = world.simulator.hold("/**")
      let job = try await world.get(path, as: token, [.prefer: "respond-async"])
      #expect(job.status == 202)
      let unready = try await world.get(path, as: token, [.prefer: "wait=0"])
      #expect(unready.status == 504 && unready.code == "mirror/not-ready")
      #expect(unready["Magpie-Job"] == job[.location])
      world.simulator.release(gate)
      let away = try await world.get(path, as: token, [.prefer: "wait=30"])
      #expect(away.status == 503 && away.code == "upstream/offline", "\(away.status)")

      try await world.sql("UPDATE magpie.credential SET blocked_until = now() + interval '100 s'")
      let limited = try await world.get(path, as: token, [.prefer: "wait=30"])
      #expect(limited.status == 503 && limited.code == "upstream/rate-limited")
      let reset = try #require(try limited.json["upstream"]?["reset"]?.int)
      let now: Int64 = try await world.value("SELECT extract(epoch FROM now())::bigint")
      #expect((80...105).contains(reset - now))
    }
  }

  @Test func manyWhoAskAtOnceAreOneRequest() async throws {
    try await withPicture { world, host, token, id in
      host.answer(Self.png(80, 80))
      try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<30 {
          group.addTask {
            try await world.get("/github/avatars/\(id)", as: token, [.prefer: "wait=30"])[.contentType]
          }
        }
        for try await type in group { #expect(type == "image/png") }
      }
      // One who looked just before the picture was stored may order another look, which is one for all such.
      #expect((1...2).contains(host.visits.entries.count))
    }
  }

  @Test func sizesAndNamesThatAreNoneAreRefused() async throws {
    try await TestWorld.run(.init(.init("octocat", followers: 1))) { world in
      let token = try await world.token()
      for size in ["0", "41", "80px", "461", "-40", "99999"] {
        let answer = try await world.get("/github/avatars/583231?s=\(size)", as: token)
        #expect(answer.status == 422 && answer.text.contains("40, 80, 160, 460"))
      }
      for id in ["0", "octocat", "-1", "9999999999999999999"] {
        #expect(try await world.get("/github/avatars/\(id)", as: token).status == 404)
      }
      #expect(try await world.get("/github/avatars/583231", as: nil).status == 401)
      let digits = String(repeating: "a", count: 64)
      for name in [digits, digits.dropLast() + "G", digits.uppercased(), digits + "a", "x"] {
        let answer = try await world.get("/images/\(name)", as: nil)
        #expect(answer.status == 404 && answer.code == "images/not-found")
        #expect(answer[.cacheControl] == "no-store")
      }
      #expect(world.simulator.requestCount == 0)
    }
  }

  @Test func picturesThatNobodyShowsAreSweptAway() async throws {
    try await withPicture { world, host, token, id in
      host.answer(Self.png(80, 80))
      _ = try await world.get("/github/avatars/\(id)", as: token)
      host.answer(Self.png(81, 81))
      let answer = try await world.get(
        "/github/avatars/\(id)", as: token, [.cacheControl: "no-cache", .prefer: "wait=30"])
      #expect(answer.body == Self.png(81, 81))
      #expect(try await world.value("SELECT magpie.sweep_images()") == Int64(0))
      try await world.sql("UPDATE magpie.image SET created_at = now() - interval '25 hours'")
      #expect(try await world.value("SELECT magpie.sweep_images()") == Int64(1))
      #expect(try await world.value("SELECT width FROM magpie.image") == 81)
    }
  }

  @Test func hostsAreTakenAsTheSettingNamesThem() throws {
    let hosts = try #require(PictureHosts(["avatars.githubusercontent.com", "img.example:8443", "http://127.0.0.1:9"]))
    for (url, isAllowed) in [
      ("https://avatars.githubusercontent.com/u/1?v=4", true), ("https://AVATARS.githubusercontent.com/u/1", true),
      ("https://img.example:8443/x", true), ("http://127.0.0.1:9/x", true),
      ("http://avatars.githubusercontent.com/u/1", false), ("https://avatars.githubusercontent.com:8443/u/1", false),
      ("https://avatars.githubusercontent.com./u/1", false), ("https://img.example/x", false),
      ("https://evilavatars.githubusercontent.com/u/1", false), ("https://127.0.0.1:9/x", false),
      ("http://127.0.0.1:10/x", false),
    ] {
      #expect(hosts.allows(url) == isAllowed, "\(url)")
    }
    for entry in ["a/b", "http://", "ftp://a", "user@a", "a b", "a?b"] {
      #expect(PictureHosts([entry]) == nil, "\(entry)")
    }
  }

  @Test(arguments: [
    ("octo-cat", "OC"), ("octocat", "O"), ("-ACE-", "A"), ("dependabot[bot]", "DB"), ("0----0", "00"), ("a_b_c", "AB"),
    ("--", "?"),
  ])
  func initialsAreLettersAndDigitsOfTheLogin(login: String, letters: String) {
    #expect(Initials.letters(of: login) == letters)
  }
}
