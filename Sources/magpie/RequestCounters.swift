import HTTP
import HTTPServer
import MagpieAPI
import Synchronization

/// Counts requests and writes a line for each.
final class RequestCounters: Sendable {
  private struct Key: Hashable {
    /// `nil` for those that nobody knows.
    let method: Method?
    let route: String
    let status: Int

    var methodName: String { method?.rawValue ?? "other" }

    /// Of what is cheap to hash: every request comes by here, and few routes are equally long.
    func hash(into hasher: inout Hasher) {
      hasher.combine(route.utf8.count << 10 | status)
    }
  }

  private struct Tally {
    var count = 0
    var nanoseconds: UInt64 = 0

    mutating func add(_ duration: UInt64) {
      count += 1
      nanoseconds += duration
    }
  }

  private let log: Log
  private let tallies = Mutex<[Key: Tally]>([:])
  private let bytes = Atomic(0)

  init(log: Log) { self.log = log }

  var observer: Server.Observer {
    var observer = Server.Observer()
    observer.requestEnded = { [self] in ended($0) }
    return observer
  }

  /// Patterns, never paths: those may hold names, and would be without number, as methods that nobody knows would be.
  private func ended(_ report: Server.Report) {
    let route = report.request.pattern ?? ""
    let method = report.request.method
    let key = Key(method: method.isKnown ? method : nil, route: route, status: report.status.code)
    tallies.withLock { $0[key, default: Tally()].add(report.duration) }
    bytes.wrappingAdd(report.bytesSent, ordering: .relaxed)
    guard log.takes(.info) else { return }
    var values: [(StaticString, Log.Value)] = [
      ("id", .text(report.request.id)), ("method", .text(method.rawValue)), ("route", .text(route)),
      ("status", .number(Int64(report.status.code))), ("ms", .milliseconds(report.duration)),
      ("bytes", .number(Int64(report.bytesSent))),
    ]
    if report.request.label > 0 { values.append(("account", .number(report.request.label))) }
    if !report.isComplete { values.append(("cut", .number(1))) }
    log.write(.info, "request", values)
  }

  func metrics(_ server: Server) -> [Health.Metric] {
    typealias Metric = Health.Metric
    var metrics = [
      Metric("magpie_connections", .gauge, "Connections open now.", value: Double(server.connections)),
      Metric("magpie_requests_in_flight", .gauge, "Requests being handled.", value: Double(server.requestsInFlight)),
      Metric("magpie_sent_bytes_total", .counter, "Bytes of answers.", value: Double(bytes.load(ordering: .relaxed))),
    ]
    let tallies = tallies.withLock { $0 }.sorted {
      ($0.key.route, $0.key.methodName, $0.key.status) < ($1.key.route, $1.key.methodName, $1.key.status)
    }
    for (key, tally) in tallies {
      let labels = [("method", key.methodName), ("route", key.route), ("status", String(key.status))]
      metrics.append(
        Metric("magpie_requests_total", .counter, "Requests answered.", labels: labels, value: Double(tally.count)))
    }
    for (key, tally) in tallies {
      let labels = [("method", key.methodName), ("route", key.route), ("status", String(key.status))]
      metrics.append(
        Metric(
          "magpie_request_seconds_total", .counter, "Time from the head's end to the answer's.", labels: labels,
          value: Double(tally.nanoseconds) / 1e9))
    }
    return metrics
  }
}
