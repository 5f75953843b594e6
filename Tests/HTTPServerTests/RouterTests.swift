import EventLoop
import HTTP
import Testing

@testable import HTTPServer

@Suite struct RouterTests {
  /// A table whose handlers answer with their pattern and captures.
  private func table(_ routes: [(HTTP.Method, String)]) throws -> RouteTable {
    var router = Router()
    for (method, pattern) in routes {
      router.on(method, pattern) { request in
        let captures = ["id", "login", "owner", "repo"].compactMap { name in
          request.parameters[name].map { "\(name)=\($0)" }
        }
        return .text(([request.pattern ?? "none"] + captures).joined(separator: " "))
      }
    }
    return try router.build()
  }

  private func answer(_ table: RouteTable, _ method: HTTP.Method, _ target: String) async throws -> (
    Int, String, String?
  ) {
    let loop = try EventLoop()
    let response = await table.respond(to: try Request(method, target, loop: loop))
    let text = response.body.withBytes { String(decoding: $0, as: UTF8.self) }
    return (response.status.code, text, response.fields[.allow])
  }

  @Test func textGoesBeforeCapturesAndDeadEndsLeadBack() async throws {
    let table = try table([
      (.get, "/"), (.get, "/users/{login}"), (.get, "/users/search"), (.get, "/users/search/all"),
      (.get, "/users/{id}/followers"), (.get, "/repos/{owner}/{repo}"), (.post, "/users/search"),
    ])
    for (target, wanted) in [
      ("/", "/"), ("/users/octocat?x=/y", "/users/{login} login=octocat"), ("/users/search", "/users/search"),
      ("/users/search/all", "/users/search/all"), ("/users/search/followers", "/users/{id}/followers id=search"),
      ("/users/a%2Fb%20c/followers", "/users/{id}/followers id=a/b c"), ("/%75sers/search", "/users/search"),
      ("/repos/a/b%C3%A9", "/repos/{owner}/{repo} owner=a repo=b\u{E9}"),
    ] {
      let (status, text, _) = try await answer(table, .get, target)
      #expect(status == 200)
      #expect(text == wanted)
    }
  }

  @Test(arguments: [
    "/users", "/users/", "/users/a/", "/users/a/b", "//", "/users//followers", "/Users/search", "/users%2Fa",
  ])
  func otherPathsAreNotFound(target: String) async throws {
    let table = try table([(.get, "/users/{login}"), (.get, "/users/{login}/followers"), (.get, "/users/search")])
    #expect(try await answer(table, .get, target).0 == 404)
  }

  @Test func pathsDeeperThanAnyRouteAreNotFound() async throws {
    let table = try table([(.get, "/a")])
    #expect(try await answer(table, .get, String(repeating: "/a", count: 1000)).0 == 404)
    let deepest = String(repeating: "/a", count: 32)
    #expect(try await answer(try self.table([(.get, deepest)]), .get, deepest).0 == 200)
    #expect(throws: Router.Invalid.self) { try self.table([(.get, deepest + "/a")]) }
  }

  @Test func methodsOfAPathAreToldApart() async throws {
    let table = try table([
      (.get, "/x/{id}"), (.put, "/x/{id}"), (.delete, "/x/fixed"), (.options, "/own"), (.get, "/own"),
    ])
    #expect(try await answer(table, .head, "/x/1").0 == 200)
    let refused = try await answer(table, .post, "/x/1")
    #expect(refused.0 == 405)
    #expect(refused.2 == "GET, HEAD, OPTIONS, PUT")
    #expect(refused.1.contains("\"code\":\"http/method-not-allowed\""))
    // The text has DELETE only, so GET goes on to the capture, and all of them are allowed.
    #expect(try await answer(table, .get, "/x/fixed").1 == "/x/{id} id=fixed")
    #expect(try await answer(table, .post, "/x/fixed").2 == "DELETE, GET, HEAD, OPTIONS, PUT")
    let options = try await answer(table, .options, "/x/1")
    #expect(options.0 == 204)
    #expect(options.2 == "GET, HEAD, OPTIONS, PUT")
    #expect(try await answer(table, .options, "/own").1 == "/own")
    #expect(try await answer(table, .options, "*").2 == "DELETE, GET, HEAD, OPTIONS, PUT")
    #expect(try await answer(table, .options, "/none").0 == 404)
    #expect(try await answer(table, HTTP.Method(rawValue: "FOO"), "/x/1").0 == 501)
    #expect(try await answer(table, HTTP.Method(rawValue: "get"), "/x/1").0 == 501)
    #expect(try await answer(table, .trace, "/x/1").0 == 405)
  }

  @Test(arguments: [
    (["/a", "/a"], "/a"), (["/a/{x}", "/a/{y}"], "/a/{y}"), (["a"], "a"), (["/a{x}"], "/a{x}"), (["/{}"], "/{}"),
    (["/{x}/{x}"], "/{x}/{x}"), (["/a b"], "/a b"), (["/../a"], "/../a"), (["/%41"], "/%41"),
  ])
  func tablesThatCannotBeMeantAreRefused(patterns: [String], culprit: String) {
    let error = #expect(throws: Router.Invalid.self) { try table(patterns.map { (.get, $0) }) }
    #expect(error?.pattern == culprit)
  }

  @Test func middlewareWrapsItsGroupFromTheOutside() async throws {
    func mark(_ name: String) -> Middleware {
      { request, next in
        var response = try await next(request)
        response.fields.append("X-Mark", name)
        return response
      }
    }
    var router = Router()
    router.group("/v1", through: [mark("outer"), mark("inner")]) { router in
      router.on(.get, "/a") { _ in .text("a") }
      router.group("/b", through: [mark("innermost")]) { $0.on(.get, "") { _ in .text("b") } }
    }
    router.on(.get, "/c") { _ in .text("c") }
    let table = try router.build()
    let loop = try EventLoop()
    for (target, marks) in [
      ("/v1/a", ["inner", "outer"]), ("/v1/b", ["innermost", "inner", "outer"]), ("/c", []),
    ] {
      let response = await table.respond(to: try Request(.get, target, loop: loop))
      #expect(response.fields[values: "X-Mark"] == marks)
    }
    #expect(table.routes.map(\.pattern) == ["/v1/a", "/v1/b", "/c"])
  }

  @Test func thrownErrorsBecomeAnswersInOnePlace() async throws {
    struct Own: Error {}
    var router = Router()
    router.on(.get, "/own") { _ in throw Own() }
    router.on(.get, "/http") { _ in throw HTTPError.overloaded }
    let loop = try EventLoop()
    let plain = try router.build()
    let failed = await plain.respond(to: try Request(.get, "/own", loop: loop))
    #expect(failed.status == .internalServerError)
    #expect(!failed.body.withBytes { String(decoding: $0, as: UTF8.self) }.contains("Own"))
    let busy = await plain.respond(to: try Request(.get, "/http", loop: loop))
    #expect(busy.status == .serviceUnavailable)
    #expect(busy.fields[.retryAfter] == "1")
    let custom = try router.build { error, request in .text("\(error is Own) \(request.pattern ?? "none")") }
    let answer = await custom.respond(to: try Request(.get, "/own", loop: loop))
    #expect(answer.body.withBytes { String(decoding: $0, as: UTF8.self) } == "true /own")
  }

  @Test func requestsCanBeMadeByHand() async throws {
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    let loop = group.loops[0]
    let request = try Request(.post, "/a?b=c", [.accept: "x", .accept: "y"], body: [1, 2], loop: loop)
    #expect(request.method == .post)
    #expect(request.target.query["b"] == "c")
    #expect(request.fields[values: .accept] == ["x", "y"])
    #expect(request["ACCEPT"] == "x")
    #expect(request[.cookie] == nil)
    #expect(request.authority == "localhost")
    #expect(try await request.body(limit: 2) == [1, 2])
    #expect(try await loop.run { try await request.body(limit: 2) } == [1, 2])
    await #expect(throws: HTTPError.bodyTooLarge(limit: 1)) { try await request.body(limit: 1) }
    #expect(throws: HTTPError.badTarget) { try Request(.get, "a", loop: loop) }
  }
}
