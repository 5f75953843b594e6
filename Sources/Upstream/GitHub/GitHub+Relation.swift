import HTTP

extension GitHub {
  /// `GET /users/{login}/following/{login}`: whether one account follows another.
  ///
  /// The answer is about whoever bears the two logins at that moment. A 404 says that one does not follow the other, or that
  /// one of them is not there, or that the first one's profile is private: it takes both profiles to tell these apart.
  public struct Relation: UpstreamRequest {
    private let place: Place

    private enum Place: Sendable {
      case between(Login, Login)
      case url(String)
    }

    /// Whether the first follows the second.
    public init(from follower: Login, to followed: Login) { place = .between(follower, followed) }

    /// The question at an address GitHub gave, such as that of a redirect.
    public init(at url: String) { place = .url(url) }

    /// The call to send. Such answers have no validators.
    public func call(to service: UpstreamService, credential: Credential?, validators: Validators?) -> UpstreamCall {
      let url =
        switch place {
        case .between(let follower, let followed):
          "\(service.base)/users/\(follower.pathSegment)/following/\(followed.pathSegment)"
        case .url(let url): url
        }
      return GitHub.call(url, to: service, credential: credential, validators: nil, maxBytes: 64 << 10)
    }

    /// Yes is a 204, no is a 404; all else means what it always means.
    public func reply(to answer: UpstreamAnswer, from service: UpstreamService) -> Reply<Bool> {
      let budget = RateBudget(of: answer, assuming: "core")
      switch answer.status {
      case 204: return Reply(.ok(true, Validators(etag: nil)), budget: budget)
      case 404: return Reply(.ok(false, Validators(etag: nil)), budget: budget)
      default:
        return GitHub.reply(to: answer, from: service) { () throws(Malformed) in
          throw Malformed("a body where there is none")
        }
      }
    }
  }
}
