import HTTPClient
import Postgres
import Upstream

/// The one way to hosts of pictures: only to those on the list, also when they lead elsewhere.
public final class PictureGate: Sendable {
  /// Redirects followed for one picture.
  static let maxRedirects = 2

  private let hosts: PictureHosts
  private let userAgent: String
  private let client: HTTPClient

  /// - Parameter client: made with `configuration`.
  public init(hosts: PictureHosts, userAgent: String, client: HTTPClient) {
    self.hosts = hosts
    self.userAgent = userAgent
    self.client = client
  }

  /// What a client for pictures may do: a few transfers at a time, to these hosts.
  public static func configuration(_ hosts: PictureHosts, userAgent: String) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      userAgent: userAgent, origins: hosts.origins, trustedOrigins: hosts.trusted)
    configuration.maxTransfers = 8
    return configuration
  }

  /// What came of a request.
  enum Verdict: Sendable {
    case picture(Picture, Validators)
    case notModified
    /// There is none.
    case gone
    /// What came, or where it would have come from, is not to be trusted. The word says why.
    case refused(String)
    /// It may work later.
    case transient(String, retryAfter: Int64?)
  }

  /// - Parameter url: with the size in it.
  func fetch(_ url: String, validators: Validators?) async throws -> Verdict {
    var url = url
    for _ in 0...PictureGate.maxRedirects {
      guard hosts.allows(url) else { return .refused("the address is not on the list of hosts") }
      let request = PictureRequest(at: url, userAgent: userAgent, validators: validators)
      let call = request.call
      let response: HTTPClient.Response
      do {
        response = try await client.send(
          HTTPClient.Request(.get, call.url, fields: call.fields, maxBytes: call.maxBytes, timeout: call.timeout))
      } catch let failure as HTTPClient.Failure {
        return PictureGate.verdict(of: failure)
      }
      let answer = UpstreamAnswer(
        status: response.status.code, fields: response.fields, body: response.body,
        receivedAt: Instant.now.microseconds / 1_000_000)
      switch request.outcome(of: answer) {
      case .picture(let picture, let validators): return .picture(picture, validators)
      case .notModified: return .notModified
      case .gone: return .gone
      case .refused(let malformed): return .refused(malformed.description)
      case .transient(let status, let retryAfter):
        return .transient("the host answers with status \(status)", retryAfter: retryAfter)
      case .moved(let target): url = target
      }
    }
    return .refused("too many redirects")
  }

  private static func verdict(of failure: HTTPClient.Failure) -> Verdict {
    switch failure {
    case .tooLarge, .invalidAnswer, .refusedAddress, .refusedProtocol, .refusedOrigin, .invalidRequest, .tls:
      .refused(failure.description)
    default: .transient(failure.description, retryAfter: nil)
    }
  }
}
