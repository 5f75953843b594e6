import HTTP
import HTTPClient
import JSONText
import Postgres
import TestSupport
import Testing

/// An answer as a client sees it.
package struct Answer: Sendable {
  package let status: Int
  package let fields: Fields
  package let body: [UInt8]

  package init(status: Int, fields: Fields, body: [UInt8]) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  package var text: String { String(decoding: body, as: UTF8.self) }

  package var json: JSONView {
    get throws { try JSONView(body) }
  }

  /// The numbers called `id` of an array's items, in order.
  package var ids: [Int64] {
    get throws { try json.elements.map { try #require($0["id"]?.int) } }
  }

  /// Addresses by relation.
  package var links: [String: String] {
    var links: [String: String] = [:]
    for link in fields[joined: .link].map(Link.parse) ?? [] {
      for relation in link.relations { links[relation] = link.target }
    }
    return links
  }

  /// The problem's stable code.
  package var code: String? { (try? json)?["code"]?.string }
  /// Members of the body that were found wrong.
  package var pointers: [String] { (try? json)?["errors"]?.elements.compactMap { $0["pointer"]?.string } ?? [] }

  package subscript(name: Fields.Name) -> String? { fields[name] }
  package var cacheStatus: String? { fields["Cache-Status"] }
  package var coverage: String? { fields["Magpie-Coverage"] }
}

extension TestWorld {
  /// Sends a request to a server and answers what comes, whatever it is.
  ///
  /// - Parameter path: or a whole address, such as that of a link.
  package func send(
    _ method: Method, _ path: String, as token: String?, _ fields: Fields = [:], body: String? = nil, to server: Int = 0
  ) async throws -> Answer {
    var fields = fields
    if let token { fields.append(.authorization, "Bearer \(token)") }
    if body != nil { fields.append(.contentType, "application/json") }
    let url = path.hasPrefix("/") ? servers[server].baseURL + path : path
    let response = try await client.send(
      HTTPClient.Request(method, url, fields: fields, body: body.map { Array($0.utf8) }, timeout: .seconds(40)))
    return Answer(status: response.status.code, fields: response.fields, body: response.body)
  }

  package func get(
    _ path: String, as token: String?, _ fields: Fields = [:], to server: Int = 0
  ) async throws -> Answer {
    try await send(.get, path, as: token, fields, to: server)
  }

  /// Follows `next` from a page to the end.
  package func pages(from path: String, as token: String?, to server: Int = 0) async throws -> [Answer] {
    var answers: [Answer] = []
    var next: String? = path
    while let path = next {
      let answer = try await get(path, as: token, to: server)
      if answer.status != 200 { Issue.record("\(answer.text) \(try await jobErrors())") }
      try #require(answer.status == 200)
      answers.append(answer)
      next = answer.links["next"]
      try #require(answers.count < 1_000)
    }
    return answers
  }

  /// An account with a token.
  package func token(of username: String = "ann", scopes: [String]? = nil) async throws -> String {
    try await owner.query(
      """
      SELECT admin.create_account(\(username)) WHERE NOT EXISTS (SELECT FROM magpie.account a WHERE a.username = \(username))
      """)
    return try await value("SELECT admin.issue_token(\(username), 'test', \(scopes)::text[])")
  }

  /// One value, as the owner.
  package func value<Value: ColumnDecodable>(_ query: Query) async throws -> Value {
    try #require(try await owner.query(query).first).decode(Value.self)
  }

  /// A statement, as the owner.
  package func sql(_ query: Query) async throws { try await owner.query(query) }

  /// Lets jobs that wait for their next attempt begin now. Nothing may be held back: a run under way is waited for, since it
  /// would put its job off once more.
  package func makeJobsDue() async throws {
    try await eventually("no run is under way") {
      try await value("SELECT count(*) FROM magpie.job WHERE state = 'running'") == Int64(0)
    }
    try await sql("UPDATE magpie.job SET available_at = now() WHERE state = 'scheduled'")
  }

  /// What went wrong with the jobs that are left, for messages.
  package func jobErrors() async throws -> [String] {
    try await owner.query("SELECT coalesce(j.errors::text, '') FROM magpie.job j").decode(String.self)
  }

  /// Waits until that many requests wait for jobs, at all servers together. Who comes later may find the job gone.
  package func untilWaiting(_ count: Int) async throws {
    try await eventually("\(count) requests wait") { servers.reduce(0) { $0 + $1.waiting } == count }
  }

  /// Waits until no job is left.
  package func untilIdle() async throws {
    try await eventually("all jobs end") {
      try await value("SELECT count(*) FROM magpie.job") == Int64(0)
    }
  }
}
