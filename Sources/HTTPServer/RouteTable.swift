import HTTP

/// Answers requests by their method and path. Made by `Router.build`.
public final class RouteTable: Sendable {
  private struct Endpoint: Sendable {
    var routes: [Route] = []
  }

  /// Method and pattern of every route, as they were added.
  public let routes: [(method: Method, pattern: String)]

  private let trie: RouteTrie
  /// By node of the trie.
  private let endpoints: [Endpoint]
  private let onError: @Sendable (any Error, Request) -> Response

  init(_ routes: [Route], onError: @escaping @Sendable (any Error, Request) -> Response) throws(Router.Invalid) {
    var trie = RouteTrie()
    var endpoints: [Endpoint] = []
    for route in routes {
      let node = trie.insert(route.segments)
      while endpoints.count <= node { endpoints.append(Endpoint()) }
      if let other = endpoints[node].routes.first(where: { $0.method == route.method }) {
        throw Router.Invalid(
          pattern: route.pattern, reason: "takes the same \(route.method) requests as \(other.pattern)")
      }
      endpoints[node].routes.append(route)
    }
    self.routes = routes.map { ($0.method, $0.pattern) }
    self.trie = trie
    self.endpoints = endpoints
    self.onError = onError
  }

  /// The answer to errors unless `build` was given another: a problem document that says no more than the status.
  public static let problem: @Sendable (any Error, Request) -> Response = { error, request in
    (error as? HTTPError ?? .internalError).response(requestID: request.id)
  }

  /// Runs the route's handler. What it throws becomes an answer by `onError`.
  public func respond(to request: Request) async -> Response {
    var request = request
    do {
      if request.exchange.route == nil {
        let (route, allowed) = try find(request)
        guard let route else { return Response(.noContent, [.allow: RouteTable.list(allowed)]) }
        request.exchange.route = route
      }
      guard let route = request.exchange.route else { throw HTTPError.notFound }
      request.route = route
      switch route.action {
      case .handler(let handler): return try await handler(request)
      case .immediate(let handler): return try handler(request)
      }
    } catch {
      return response(to: error, request)
    }
  }

  /// Runs the route's handler if it is an immediate one; also answers what has no route. `nil` for all others: those are for
  /// `respond`, which need not look for their route again.
  public func answerAtOnce(_ request: Request) -> Response? {
    var request = request
    do {
      let (route, allowed) = try find(request)
      guard let route else { return Response(.noContent, [.allow: RouteTable.list(allowed)]) }
      request.exchange.route = route
      guard case .immediate(let handler) = route.action else { return nil }
      request.route = route
      return try handler(request)
    } catch {
      return response(to: error, request)
    }
  }

  private func response(to error: any Error, _ request: Request) -> Response {
    var response = onError(error, request)
    (error as? HTTPError)?.addFields(to: &response)
    return response
  }

  /// The route that answers, or `nil` and the methods of the path for `OPTIONS`.
  private func find(_ request: Request) throws(HTTPError) -> (Route?, [Method]) {
    let method = request.method
    guard method.isKnown else { throw .methodUnknown }
    if request.isForWholeServer {
      return (nil, RouteTable.allowed(endpoints.flatMap(\.routes)))
    }
    var found: Route?
    var others: [Route] = []
    request.exchange.withPath { path in
      trie.find(path) { node in
        let routes = endpoints[node].routes
        found = routes.first { $0.method == method }
        if found == nil, method == .head { found = routes.first { $0.method == .get } }
        if found == nil { others += routes }
        return found != nil
      }
    }
    if let found { return (found, []) }
    if others.isEmpty { throw .notFound }
    let allowed = RouteTable.allowed(others)
    if method == .options { return (nil, allowed) }
    throw .methodNotAllowed(allowed)
  }

  private static func allowed(_ routes: [Route]) -> [Method] {
    var methods: Set<Method> = [.options]
    for route in routes {
      methods.insert(route.method)
      if route.method == .get { methods.insert(.head) }
    }
    return methods.sorted { $0.rawValue < $1.rawValue }
  }

  private static func list(_ methods: [Method]) -> String { methods.map(\.rawValue).joined(separator: ", ") }
}

extension Request {
  /// `OPTIONS *`.
  var isForWholeServer: Bool {
    let head = exchange.parser.head.target
    return head.count == 1 && exchange.bytes(head)[0] == UInt8(ascii: "*")
  }
}
