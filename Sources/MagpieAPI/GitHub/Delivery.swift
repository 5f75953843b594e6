import HTTP
import Magpie

/// Mirrored data on its way to a client, and how it came about.
struct Delivery<Value: Sendable>: Sendable {
  /// What an answer was made from, as `Cache-Status` tells it (RFC 9211).
  enum Source: Sendable {
    /// Stored and fresh.
    case stored
    /// The first walk is under way, and this part of the list is stored.
    case part
    /// Stored and stale; why it is not fresher.
    case stale(String)
    /// Nothing was stored, and this client has waited for it.
    case fetched
    /// The client wanted a fresh answer and has waited for it.
    case refreshed

    var cacheStatus: String {
      switch self {
      case .stored: "magpie; hit"
      case .part: "magpie; hit; detail=partial"
      case .stale(let reason): "magpie; fwd=stale; detail=\(reason)"
      case .fetched: "magpie; fwd=miss"
      case .refreshed: "magpie; fwd=request"
      }
    }
  }

  var value: Value
  var source: Source
  /// The job that is fetching a fresher state.
  var job: Int64?
  /// Nanoseconds spent in the database, and waiting for the job.
  var timing: Timing
}

/// Where a request's time went, for `Server-Timing`.
struct Timing: Sendable {
  var database: UInt64 = 0
  var queue: UInt64 = 0

  var fieldValue: String {
    func milliseconds(_ nanoseconds: UInt64) -> String {
      let hundredths = nanoseconds / 10_000
      let fraction = hundredths % 100
      return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
    let database = "db;dur=\(milliseconds(database))"
    return queue == 0 ? database : "\(database), queue;dur=\(milliseconds(queue))"
  }
}

extension Delivery {
  /// The fields that tell how fresh the data is.
  func fields(_ freshness: Freshness?) -> Fields {
    var fields: Fields = [:]
    fields.append("Cache-Status", source.cacheStatus)
    if let freshness {
      fields.append(.age, String(Int(min(freshness.age, 1e9))))
      fields.append("Magpie-Fetched-At", Timestamp(microseconds: freshness.fetchedAt.microseconds).description)
      fields.append("Magpie-Validated-At", Timestamp(microseconds: freshness.validatedAt.microseconds).description)
    }
    if let job { fields.append("Magpie-Job", "/v1/jobs/\(job)") }
    fields.append(.serverTiming, timing.fieldValue)
    return fields
  }
}
