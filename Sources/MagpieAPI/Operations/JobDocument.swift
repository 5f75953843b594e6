import HTTP
import JSONText
import Magpie

/// A job as accounts see it: the answer of `GET /v1/jobs/{id}`, and, without the budget, the data of `job` events.
public enum JobDocument {
  /// JSON without line breaks.
  @Sendable
  public static func bytes(_ status: Job.Status) -> [UInt8] { bytes(status, budget: nil) }

  static func bytes(_ status: Job.Status, budget: Budgets.Allowance?) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("id")
    writer.int(status.id)
    writer.key("kind")
    writer.string(status.kind)
    writer.key("state")
    writer.string(status.state.rawValue)
    writer.key("pages_done")
    writer.int(status.done ?? 0)
    writer.key("pages_expected")
    if let total = status.total { writer.int(total) } else { writer.null() }
    writer.key("attempt")
    writer.int(status.attempt)
    writer.key("created_at")
    writer.string(Timestamp(microseconds: status.createdAt.microseconds).description)
    for (name, time) in [("started_at", status.startedAt), ("finished_at", status.finishedAt)] {
      writer.key(name)
      if let time { writer.string(Timestamp(microseconds: time.microseconds).description) } else { writer.null() }
    }
    writer.key("eta_seconds")
    if let seconds = status.secondsLeft(at: .now) {
      writer.int(Int64(seconds.rounded(.up)))
    } else {
      writer.null()
    }
    if let budget {
      writer.key("budget")
      writer.beginObject()
      writer.key("resource")
      writer.string(budget.resource)
      for (name, number) in [("limit", budget.limit), ("remaining", budget.remaining), ("reset", budget.reset)] {
        writer.key(name)
        writer.int(number)
      }
      writer.endObject()
    }
    writer.key("error")
    // The code alone: the rest is for administrators.
    if let error = status.lastError { writer.string(error.prefix { $0 != ":" }.description) } else { writer.null() }
    writer.endObject()
    return writer.bytes
  }
}
