import HTTP
import JSONText

/// What we know of GitHub's REST API, version 2022-11-28.
public enum GitHub {
  /// The version we ask for with every request.
  static let apiVersion = "2022-11-28"
  /// The largest page GitHub gives; larger wishes are cut to it in silence.
  public static let maxPerPage = 100

  /// A GET in GitHub's terms. The credential goes to the service's own origin only.
  static func call(
    _ url: String, to service: UpstreamService, credential: Credential?, validators: Validators?, maxBytes: Int
  ) -> UpstreamCall {
    var fields: Fields = [
      .userAgent: service.userAgent,
      .accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": apiVersion,
    ]
    if let credential, service.owns(url) { fields.append(.authorization, "Bearer \(credential.token)") }
    validators?.add(to: &fields)
    return UpstreamCall(url: url, fields: fields, maxBytes: maxBytes)
  }

  /// A user, organization or bot, by either of its names in URLs.
  public enum AccountReference: Sendable, Hashable {
    /// By login, which may change hands.
    case login(Login)
    /// By id, which does not.
    case id(Int64)

    /// The path of its profile.
    var path: String {
      switch self {
      case .login(let login): "/users/\(login.pathSegment)"
      case .id(let id): "/user/\(id)"
      }
    }
  }
}
