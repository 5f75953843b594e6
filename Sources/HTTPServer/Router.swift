import HTTP

/// Runs around a handler: may look at the request, answer by itself, or change the answer.
public typealias Middleware = @Sendable (_ request: Request, _ next: Handler) async throws -> Response

/// Collects routes; `build` checks them and makes the table that answers.
///
/// ```swift
/// var router = Router()
/// router.on(.get, "/livez") { _ in .text("ok") }
/// router.group("/v1", through: [authenticate]) { router in
///   router.on(.get, "/favorites/{kind}/{id}", showFavorite)
/// }
/// let table = try router.build()
/// ```
///
/// A segment is plain text or a whole `{capture}`. Text goes before a capture; the names of captures may differ from route to
/// route. A trailing slash makes another path. `HEAD` is answered by `GET` and `OPTIONS` by the table, unless they have routes.
public struct Router: Sendable {
  /// A route table that would not do what it says.
  public struct Invalid: Error, Equatable, CustomStringConvertible {
    /// The pattern at fault.
    public let pattern: String
    /// What is wrong with it.
    public let reason: String

    /// Pattern and reason.
    public var description: String { "route \(pattern): \(reason)" }
  }

  private struct Entry: Sendable {
    let method: Method
    let pattern: String
    let action: Route.Action
  }

  private var entries: [Entry] = []
  private var prefix = ""
  private var middleware: [Middleware] = []

  /// No routes.
  public init() {}

  /// Adds a route, wrapped in the middleware of the groups it is in.
  public mutating func on(_ method: Method, _ pattern: String, _ handler: @escaping Handler) {
    let wrapped = middleware.reversed().reduce(handler) { inner, outer in
      { request in try await outer(request, inner) }
    }
    entries.append(Entry(method: method, pattern: prefix + pattern, action: .handler(wrapped)))
  }

  /// Adds a route that is answered at once, out of what is at hand. Middleware is not for it.
  public mutating func immediately(_ method: Method, _ pattern: String, _ handler: @escaping ImmediateHandler) {
    entries.append(Entry(method: method, pattern: prefix + pattern, action: .immediate(handler)))
  }

  /// Adds routes that share a prefix and middleware; the first one named is the outermost.
  public mutating func group(_ prefix: String, through middleware: [Middleware] = [], routes: (inout Router) -> Void) {
    let outside = (self.prefix, self.middleware)
    self.prefix += prefix
    self.middleware += middleware
    routes(&self)
    (self.prefix, self.middleware) = outside
  }

  /// Checks the routes and makes the table.
  ///
  /// - Parameter onError: makes the answer for what a handler throws and for the table's own refusals (`HTTPError`: unknown
  ///   path, method). `Allow` is added to its answer where it belongs.
  /// - Throws: `Invalid` for a malformed pattern, and for two routes that take the same requests.
  public func build(
    onError: @escaping @Sendable (any Error, Request) -> Response = RouteTable.problem
  ) throws(Invalid) -> RouteTable {
    var routes: [Route] = []
    for entry in entries { routes.append(try Route(entry.method, entry.pattern, entry.action)) }
    return try RouteTable(routes, onError: onError)
  }
}
