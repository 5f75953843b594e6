import HTTP
import Upstream

let github = UpstreamService(base: "https://api.github.com", userAgent: "Magpie/1.0 (+https://magpie.example)")!

/// Thursday, 1 January 2026, 00:00:00 UTC.
let newYear: Int64 = 1_767_225_600

/// An answer as GitHub sends it, dated at ``newYear`` by GitHub's clock and received an hour later by ours.
func answer(_ status: Int, _ body: String = "", _ fields: Fields = [:]) -> UpstreamAnswer {
  var all: Fields = [.date: HTTPDate.format(newYear)]
  for field in fields { all.append(field.name, field.value) }
  return UpstreamAnswer(status: status, fields: all, body: Array(body.utf8), receivedAt: newYear + 3600)
}

func profileReply(_ answer: UpstreamAnswer) -> Reply<GitHub.Account> {
  GitHub.Profile(.id(1)).reply(to: answer, from: github)
}

func pageReply(_ answer: UpstreamAnswer) -> Reply<GitHub.FollowPage> {
  GitHub.FollowList(.followers, of: .id(1)).reply(to: answer, from: github)
}

extension Outcome {
  /// The outcome without the answer itself, for comparisons.
  var summary: String {
    switch self {
    case .ok(_, let validators): "ok \(validators.etag ?? "-") \(validators.lastModified ?? "-")"
    case .notModified: "not modified"
    case .moved(let url, let sameOrigin, let isPermanent): "moved \(url) same:\(sameOrigin) permanent:\(isPermanent)"
    case .gone(let status, let reason): "gone \(status) \(reason ?? "-")"
    case .limited(let limit): "limited \(limit.kind) \(limit.seconds) \(limit.isNamed ? "named" : "unnamed")"
    case .unauthorized: "unauthorized"
    case .refused(let refusal): "refused \(refusal)"
    case .transient(let status, let retryAfter): "transient \(status) \(retryAfter.map(String.init) ?? "-")"
    case .invalid(let malformed): "invalid \(malformed)"
    }
  }

  var value: Answer? {
    guard case .ok(let answer, _) = self else { return nil }
    return answer
  }
}
