import CLibpq
import Glibc

/// A parsed libpq connection string or URI, with this package's defaults under it.
///
/// libpq tries several hosts in turn, but when it is driven without blocking it has no time limit per host: a host that
/// swallows packets would use up the whole attempt, every time. So each attempt begins with another host. Nor must it look up
/// names on a loop: `hostNames` are those to be looked up before.
struct ConnectionParameters: Sendable {
  private var options: [(keyword: String, value: String)] = []
  private var hosts: [Host] = []
  /// From `connect_timeout` in the string, whole seconds; `nil` when it says nothing.
  private(set) var connectTimeout: Duration?

  /// Used where the connection string says nothing else.
  private static let defaults: [(keyword: String, value: String)] = [
    ("fallback_application_name", "magpie"),
    ("target_session_attrs", "read-write"),
    ("client_encoding", "UTF8"),
    // A peer that vanished without a word is noticed within about 15 seconds.
    ("keepalives_idle", "5"), ("keepalives_interval", "3"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
  ]

  /// - Throws: `PostgresError` of kind `invalid`, without the string, which may hold a password.
  init(_ connectionString: String, applicationName: String?) throws(PostgresError) {
    var message: UnsafeMutablePointer<CChar>?
    guard let parsed = PQconninfoParse(connectionString, &message) else {
      PQfreemem(message)
      throw PostgresError(.invalid, "the connection string cannot be parsed")
    }
    defer { PQconninfoFree(parsed) }
    options = ConnectionParameters.defaults
    var isOfService = getenv("PGSERVICE") != nil
    if let applicationName { options.append(("application_name", applicationName)) }
    var lists: [String: String] = [:]
    var option = parsed
    while let keyword = option.pointee.keyword {
      defer { option += 1 }
      guard let value = option.pointee.val else { continue }
      let name = String(cString: keyword)
      let text = String(cString: value)
      switch name {
      case "host", "hostaddr", "port":
        lists[name] = text
      case "connect_timeout":
        if let seconds = Int(text), seconds > 0 { connectTimeout = .seconds(max(2, seconds)) }
      default:
        isOfService = isOfService || name == "service"
        options.append((name, text))
      }
    }
    // What the string leaves out libpq takes from the environment, unless a service file has it.
    if !isOfService {
      if lists["host"] == nil, lists["hostaddr"] == nil {
        lists["host"] = ConnectionParameters.environment("PGHOST")
        lists["hostaddr"] = ConnectionParameters.environment("PGHOSTADDR")
      }
      if lists["port"] == nil { lists["port"] = ConnectionParameters.environment("PGPORT") }
    }
    hosts = try Host.all(hosts: lists["host"], addresses: lists["hostaddr"], ports: lists["port"])
  }

  private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Each begins one attempt in so many.
  var hostCount: Int { hosts.count }

  /// Names of hosts that come without an address.
  var hostNames: Set<String> { Set(hosts.compactMap(\.nameToLookUp)) }

  /// Whether one of the hosts can be connected to without an address being found for any name.
  var hasHostWithoutName: Bool { hosts.contains { $0.nameToLookUp == nil } }

  /// Adds an option that the string does not have.
  mutating func setDefault(_ keyword: String, _ value: String) {
    if keyword == "connect_timeout", let connectTimeout {
      options.append((keyword, "\(connectTimeout.components.seconds)"))
    } else if !options.contains(where: { $0.keyword == keyword }) {
      options.append((keyword, value))
    }
  }

  /// Calls `body` with the arrays that `PQconnectStartParams` takes, beginning with another host each attempt.
  ///
  /// - Parameter addresses: those of `hostNames`, by name; hosts whose name is not among them are left out, and one host at
  ///   least has to remain. `nil`: libpq looks up what it needs.
  func withArrays<Value>(
    attempt: Int, addresses: [String: [String]]? = nil,
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
  ) -> Value {
    var all = options
    let start = hosts.isEmpty ? 0 : attempt % hosts.count
    all += Host.options((hosts[start...] + hosts[..<start]).flatMap { $0.resolved(addresses) })
    let keywords = all.map { strdup($0.keyword) }
    let values = all.map { strdup($0.value) }
    defer { for pointer in keywords + values { free(pointer) } }
    let keywordArray = keywords.map { UnsafePointer<CChar>($0) } + [nil]
    let valueArray = values.map { UnsafePointer<CChar>($0) } + [nil]
    return keywordArray.withUnsafeBufferPointer { keywords in
      valueArray.withUnsafeBufferPointer { values in
        // Neither is empty: both end with nil.
        body(keywords.baseAddress!, values.baseAddress!)
      }
    }
  }
}
