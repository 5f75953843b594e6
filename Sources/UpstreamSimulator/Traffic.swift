import HTTP

extension Simulator {
  /// One answered request.
  public struct LogEntry: Sendable, Equatable {
    /// Counts all requests since the start or the last reset, from 1.
    public let number: Int
    /// The method's name.
    public let method: String
    /// Path and query as they came.
    public let target: String
    /// The answer's status; 0 when the connection was cut instead.
    public let status: Int
    /// Whose token it was: a name, or `anonymous`.
    public let credential: String
    /// Whether the request had a validator.
    public let conditional: Bool
    /// Seconds since 1970 on the simulator's clock.
    public let time: Int64
  }
}

/// What was asked and answered. Steering requests are not counted.
struct Traffic: Sendable {
  private let capacity: Int
  /// A ring: the oldest entry stands at `next` once it is full.
  private var entries: [Simulator.LogEntry] = []
  private var next = 0
  private(set) var total = 0
  /// By route and status, such as `GET /users/{login} 200`.
  private(set) var counts: [String: Int] = [:]

  init(capacity: Int) { self.capacity = max(1, capacity) }

  mutating func record(
    _ request: Ask, route: String, status: Int, credential: Credential?, now: Int64
  ) {
    total += 1
    counts["\(request.method.rawValue) \(route) \(status)", default: 0] += 1
    let entry = Simulator.LogEntry(
      number: total, method: request.method.rawValue, target: request.target.description, status: status,
      credential: credential?.label ?? "invalid",
      conditional: request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince), time: now)
    if entries.count < capacity {
      entries.append(entry)
    } else {
      entries[next] = entry
      next = (next + 1) % capacity
    }
  }

  mutating func reset() { self = Traffic(capacity: capacity) }

  /// The entries kept, oldest first.
  var log: [Simulator.LogEntry] { Array(entries[next...] + entries[..<next]) }

  /// The entries kept whose target matches.
  func log(matching pattern: PathPattern) -> [Simulator.LogEntry] {
    log.filter { entry in (try? Target(entry.target)).map(pattern.matches) ?? false }
  }
}
