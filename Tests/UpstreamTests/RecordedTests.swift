import Glibc
import HTTP
import JSONText
import Testing
import Upstream

/// Recorded exchanges with the real service, where a checkout has them beside it. They are not part of the project.
private let recorded: JSONView? = {
  let path: String
  if let set = getenv("MAGPIE_RECORDED") {
    path = String(cString: set)
  } else {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    path = root + "/../shared/recorded"
  }
  guard let file = fopen(path + "/github.json", "r") else { return nil }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = fread(&chunk, 1, chunk.count, file)
    if count == 0 { break }
    bytes += chunk[..<count]
  }
  return try? JSONView(bytes)
}()

@Suite("Recorded exchanges", .enabled(if: recorded != nil))
struct RecordedTests {
  private struct Exchange {
    let path: String
    let answer: UpstreamAnswer

    init(_ view: JSONView) throws {
      path = try #require(view["path"]?.string)
      var fields = Fields()
      for (name, value) in try #require(view["headers"]).members {
        if let name = Fields.Name(name), let value = value.string { fields.append(name, value) }
      }
      let body = view["body"]
      answer = UpstreamAnswer(
        status: Int(try #require(view["status"]?.int)), fields: fields,
        body: body?.string.map { Array($0.utf8) } ?? body?.bytes ?? [], receivedAt: 0)
    }
  }

  private func exchanges() throws -> [Exchange] { try #require(recorded).elements.map { try Exchange($0) } }

  @Test("profiles are read with their identity")
  func profiles() throws {
    var count = 0
    for exchange in try exchanges() where exchange.answer.status == 200 {
      let parts = exchange.path.split(separator: "/")
      guard parts.count == 2, parts[0].hasPrefix("user") else { continue }
      let reply = profileReply(exchange.answer)
      let account = try #require(reply.outcome.value, "\(exchange.path): \(reply.outcome.summary)")
      #expect(account.id > 0)
      #expect(account.followers != nil)
      #expect(GitHub.Login(account.login) != nil)
      #expect(reply.budget?.remaining != nil)
      if parts[0] == "user" { #expect(parts[1] == "\(account.id)") }
      count += 1
    }
    #expect(count > 0)
  }

  @Test("lists of accounts are read whole")
  func lists() throws {
    var count = 0
    for exchange in try exchanges()
    where exchange.answer.status == 200
      && (exchange.path.hasSuffix("/followers") || exchange.path.hasSuffix("/following"))
    {
      let page = try #require(pageReply(exchange.answer).outcome.value, "\(exchange.path)")
      let items = try JSONView(exchange.answer.body).elements.reduce(0) { count, _ in count + 1 }
      #expect(page.members.count == items)
      #expect(page.next == nil)
      count += 1
    }
    #expect(count > 0)
  }

  @Test("refusals, redirects and trouble are told apart")
  func refusals() throws {
    for exchange in try exchanges() where exchange.answer.status != 200 {
      let reply = profileReply(exchange.answer)
      switch (exchange.answer.status, reply.outcome) {
      case (301, .moved(let url, sameOrigin: true, isPermanent: true)):
        #expect(url.hasPrefix("https://api.github.com/repositories/"))
      case (403, .limited(let limit)): #expect(limit.kind == .primary)
      case (404, .gone(404, nil)): break
      case (500..., .transient(let status, _)): #expect(status == exchange.answer.status)
      default: Issue.record("\(exchange.path) \(exchange.answer.status): \(reply.outcome.summary)")
      }
    }
  }

  @Test("documents of other kinds are no accounts, and every good body is clean JSON")
  func otherDocuments() throws {
    for exchange in try exchanges() where exchange.answer.status == 200 {
      let cleaned = try JSONText.clean(exchange.answer.body)
      #expect(cleaned == exchange.answer.body)
      if exchange.path.hasSuffix("/languages") || exchange.path.hasPrefix("/rate_limit")
        || exchange.path.hasPrefix("/repos/")
      {
        #expect(profileReply(exchange.answer).outcome.value == nil, "\(exchange.path)")
        #expect(pageReply(exchange.answer).outcome.value == nil, "\(exchange.path)")
      }
    }
  }
}
