import HTTP
import HTTPServer
import Synchronization

/// The admin listener: `/livez`, `/readyz`, `/metrics`.
public struct Health: Sendable {
  private let isReady: @Sendable () async -> Bool
  private let numbers: @Sendable () -> [Metric]

  /// - Parameters:
  ///   - isReady: the database is reachable, the schema right, and the process not about to end.
  ///   - numbers: what there is to be measured, at this moment.
  public init(isReady: @escaping @Sendable () async -> Bool, numbers: @escaping @Sendable () -> [Metric]) {
    self.isReady = isReady
    self.numbers = numbers
  }

  /// One number of the process.
  public struct Metric: Sendable {
    /// How it behaves.
    public enum Kind: String, Sendable {
      case counter
      case gauge
    }
    let name: String
    let kind: Kind
    let help: String
    let labels: [(String, String)]
    let value: Double

    /// A number with a name such as `magpie_requests_total`.
    public init(_ name: String, _ kind: Kind, _ help: String, labels: [(String, String)] = [], value: Double) {
      self.name = name
      self.kind = kind
      self.help = help
      self.labels = labels
      self.value = value
    }
  }

  func live(_ request: Request) -> Response { .text("ok\n") }

  func ready(_ request: Request) async -> Response {
    await isReady()
      ? .text("ready\n")
      : Response(
        .serviceUnavailable, [.contentType: "text/plain; charset=utf-8", .retryAfter: "1"], .constant("not ready\n"))
  }

  /// Prometheus' text format, version 0.0.4.
  func metrics(_ request: Request) -> Response {
    var text = ""
    var described: Set<String> = []
    for metric in numbers() {
      if described.insert(metric.name).inserted {
        text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      }
      let labels = metric.labels.map { "\($0)=\"\(Health.escaped($1))\"" }.joined(separator: ",")
      let value =
        metric.value == metric.value.rounded() && abs(metric.value) < 1e15
        ? String(Int64(metric.value)) : String(metric.value)
      text += labels.isEmpty ? "\(metric.name) \(value)\n" : "\(metric.name){\(labels)} \(value)\n"
    }
    return Response(.ok, [.contentType: "text/plain; version=0.0.4; charset=utf-8"], .bytes(Array(text.utf8)))
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
    return result
  }
}
