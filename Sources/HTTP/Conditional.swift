/// Conditional requests (RFC 9110, 13).
public enum Conditional {
  /// What to do with a request.
  public enum Outcome: Sendable, Equatable {
    /// As if there were no condition.
    case proceed
    /// Answer 304 with the validators and no body.
    case notModified
    /// Answer 412.
    case preconditionFailed
  }

  /// Evaluates the conditions in the order of RFC 9110, 13.2.2. To be asked last, when the answer would be a 2xx.
  ///
  /// - Parameters:
  ///   - fields: the request's.
  ///   - etag: of the present representation; `nil` when there is none.
  ///   - lastModified: seconds since 1970, if known.
  ///   - method: the request's.
  public static func evaluate(
    _ fields: Fields, etag: EntityTag?, lastModified: Int64? = nil, method: Method
  ) -> Outcome {
    let reads = method == .get || method == .head
    if let text = fields[joined: .ifMatch] {
      switch EntityTag.Condition(text) {
      case .any:
        if etag == nil { return .preconditionFailed }
      case .oneOf(let tags):
        guard let etag, tags.contains(where: etag.matchesStrongly) else { return .preconditionFailed }
      }
    } else if let limit = fields[.ifUnmodifiedSince].flatMap(HTTPDate.parse), let lastModified, lastModified > limit {
      return .preconditionFailed
    }
    if let text = fields[joined: .ifNoneMatch] {
      let matches =
        switch EntityTag.Condition(text) {
        case .any: etag != nil
        case .oneOf(let tags): etag.map { tags.contains(where: $0.matchesWeakly) } ?? false
        }
      if matches { return reads ? .notModified : .preconditionFailed }
    } else if reads, let limit = fields[.ifModifiedSince].flatMap(HTTPDate.parse), let lastModified,
      lastModified <= limit
    {
      return .notModified
    }
    return .proceed
  }
}
