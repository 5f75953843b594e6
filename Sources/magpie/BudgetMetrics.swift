import Magpie
import MagpieAPI

extension BudgetWatch {
  /// The budgets by credential, which is named by a part of its digest, and resource. The metrics of one name stand together.
  var metrics: [Health.Metric] {
    let lines = lines
    var known: Set<String> = []
    let credentials = lines.filter { known.insert($0.credential).inserted }
    return lines.map {
      Health.Metric(
        "magpie_upstream_budget_limit", .gauge, "Requests in a window of the upstream.", labels: labels($0),
        value: Double($0.limit))
    }
      + lines.map {
        Health.Metric(
          "magpie_upstream_budget_remaining", .gauge, "Requests left in it.", labels: labels($0),
          value: Double($0.remaining))
      }
      + credentials.map {
        Health.Metric(
          "magpie_upstream_credential_disabled", .gauge, "Whether the upstream has refused the credential for good.",
          labels: [("credential", $0.credential)], value: $0.isDisabled ? 1 : 0)
      }
      + credentials.map {
        Health.Metric(
          "magpie_upstream_credential_blocked_seconds", .gauge,
          "Until a credential may be used again that the upstream wants to rest.",
          labels: [("credential", $0.credential)], value: ($0.blockedFor ?? .zero) / .seconds(1))
      }
  }

  private func labels(_ line: Budgets.Line) -> [(String, String)] {
    [("credential", line.credential), ("resource", line.resource)]
  }
}
