extension Job.Status {
  /// The budget that it asks its upstream from; `nil` for upstreams that keep none.
  public var budget: (pool: String, resource: String)? {
    switch kind {
    case SearchQuery.jobKind: (GitHubGate.pool, "search")
    case AvatarRequest.jobKind: nil
    case GifQuestion.jobKind: (GifQuestion.pool, GifQuestion.resource)
    case _ where kind.hasPrefix("github-"): (GitHubGate.pool, "core")
    default: nil
    }
  }
}
