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

    /// Which of several parts counts for the whole.
    fileprivate var rank: Int {
      switch self {
      case .stored: 0
      case .refreshed: 1
      case .fetched: 2
      case .part: 3
      case .stale: 4
      }
    }

    init<Other>(_ other: Delivery<Other>.Source) {
      self =
        switch other {
        case .stored: .stored
        case .part: .part
        case .stale(let reason): .stale(reason)
        case .fetched: .fetched
        case .refreshed: .refreshed
        }
    }

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
  /// Takes in how another part of the same answer came about: the whole is as stale as the stalest part.
  mutating func take<Other>(in part: Delivery<Other>) {
    let other = Source(part.source)
    if other.rank > source.rank { source = other }
    job = job ?? part.job
    timing.database += part.timing.database
    timing.queue += part.timing.queue
  }

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
