import EventLoop
import JSONText
import Magpie
import Postgres
import Testing

@testable import MagpieAPI

/// The document and the routes say the same. Nothing is connected: the table alone is looked at.
@Suite struct OpenAPITests {
  private let document: JSONView
  private let routes: Set<String>

  init() throws {
    document = try JSONView(OpenAPI.document(version: "1.2.3"))
    let group = try EventLoopGroup(count: 1)
    defer { group.stop() }
    let database = try Database(Database.Configuration(connectionString: "host=/nowhere"), group: group)
    let settings = Services.Settings(
      publicURL: "http://here", githubBases: ["https://api.github.com"], version: "1.2.3")
    let services = Services(
      settings: settings,
      accounts: Accounts(database: database, passwords: PasswordWorkers()), favorites: Favorites(database: database),
      mirror: Mirror(database: database, timeToLive: TimeToLive(), form: settings.listItemForm),
      images: Images(database: database, timeToLive: TimeToLive()),
      refreshes: Refreshes(
        queue: JobQueue(database: database),
        waiter: JobWaiter(database: database, notices: Notices(database: database)),
        budgets: Budgets(database: database)),
      sync: Sync(database: database),
      hub: StreamHub(database: database, notices: Notices(database: database), jobDocument: JobDocument.bytes),
      cursorKey: Array(repeating: 7, count: 32))
    routes = Set(try Routes.api(services).routes.map { "\($0.method.rawValue) \($0.pattern)" })
  }

  @Test func `every route is described, and nothing else is`() throws {
    var described: Set<String> = []
    for (path, item) in try #require(document["paths"]).members {
      for (method, _) in item.members { described.insert("\(method.uppercased()) \(path)") }
    }
    #expect(described.subtracting(routes) == [], "described, and no route")
    #expect(routes.subtracting(described) == [], "a route, and not described")
  }

  @Test func `every operation has a name of its own`() throws {
    var names: [String] = []
    for (_, item) in try #require(document["paths"]).members {
      for (_, operation) in item.members { names.append(try #require(operation["operationId"]?.string)) }
    }
    #expect(names.count == Set(names).count)
  }

  @Test func `a path's captures are its parameters`() throws {
    for (path, item) in try #require(document["paths"]).members {
      let captures = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
      for (method, operation) in item.members {
        var inPath: [String] = []
        for parameter in operation["parameters"].map({ Array($0.elements) }) ?? [] {
          let parameter = try resolve(parameter)
          if parameter["in"]?.string == "path" { inPath.append(try #require(parameter["name"]?.string)) }
        }
        #expect(inPath.sorted() == captures.sorted(), "\(method) \(path)")
      }
    }
  }

  @Test func `every reference leads somewhere, and every component is referred to`() throws {
    var referred: Set<String> = []
    try forEachReference(in: document) { reference in
      _ = try resolve(reference)
      referred.insert(reference)
    }
    for group in ["parameters", "headers", "responses", "schemas"] {
      for (name, _) in try #require(document["components"]?[group]).members {
        #expect(referred.contains("#/components/\(group)/\(name)"))
      }
    }
  }

  @Test func `every component has a name of its own`() throws {
    for group in ["parameters", "headers", "responses", "schemas"] {
      let names = try #require(document["components"]?[group]).members.map(\.0)
      #expect(names.count == Set(names).count, "\(group)")
    }
  }

  @Test func `what needs no token says so`() throws {
    var open: Set<String> = []
    for (path, item) in try #require(document["paths"]).members {
      for (method, operation) in item.members {
        guard Array(try #require(operation["security"]).elements).isEmpty else { continue }
        open.insert("\(method) \(path)")
      }
    }
    #expect(
      open
        == Set([
          "post /v1/accounts", "post /v1/invitations/redeem", "post /v1/sessions", "post /v1/account/restore",
          "get /v1/config", "get /v1/version",
          "get /problems/{area}/{name}", "get /openapi.json", "get /images/{sha256}",
          "get /images/placeholder/{size}/{file}",
        ]).union(
          ["", "/"].flatMap { slash in
            ["photos", "photos/{id}", "albums", "albums/{id}", "albums/{id}/photos"].map {
              "get /jsonplaceholder/\($0)\(slash)"
            }
          }))
  }

  private func resolve(_ part: JSONView) throws -> JSONView {
    guard let reference = part["$ref"]?.string else { return part }
    return try resolve(reference)
  }

  private func resolve(_ reference: String) throws -> JSONView {
    var part = document
    for name in reference.split(separator: "/").dropFirst() {
      part = try #require(part[String(name)], "\(reference) leads nowhere")
    }
    return part
  }

  private func forEachReference(in part: JSONView, _ body: (String) throws -> Void) rethrows {
    switch part.kind {
    case .object:
      for (name, value) in part.members {
        if name == "$ref", let reference = value.string { try body(reference) }
        try forEachReference(in: value, body)
      }
    case .array: for element in part.elements { try forEachReference(in: element, body) }
    default: break
    }
  }
}
