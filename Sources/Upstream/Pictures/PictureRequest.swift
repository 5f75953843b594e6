import HTTP

/// One question to a host of pictures. Such hosts know no tokens and have no budgets.
public struct PictureRequest: Sendable {
  /// What an answer means.
  public enum Outcome: Sendable {
    /// A picture that may be stored, with its validators.
    case picture(Picture, Validators)
    /// What is stored is still right.
    case notModified
    /// Ask there instead.
    case moved(to: String)
    /// There is none (404, 410, 451), or none is given out (other 4xx).
    case gone(status: Int)
    /// The host is in trouble or has had enough (5xx, 408, 429); it may work later. In seconds, if it said.
    case transient(status: Int, retryAfter: Int64?)
    /// What came is no picture that is shown to anybody.
    case refused(Malformed)
  }

  private let url: String
  private let userAgent: String
  private let validators: Validators?

  /// A picture at an address, with the validators of the stored one.
  public init(at url: String, userAgent: String, validators: Validators?) {
    self.url = url
    self.userAgent = userAgent
    self.validators = validators
  }

  /// The call to send: no token, no cookie, no referrer.
  public var call: UpstreamCall {
    var fields: Fields = [
      .userAgent: userAgent, .accept: Picture.Kind.allCases.map(\.rawValue).joined(separator: ", "),
    ]
    validators?.add(to: &fields)
    return UpstreamCall(url: url, fields: fields, maxBytes: Picture.maxBytes)
  }

  /// What an answer means; the status is judged before the body.
  public func outcome(of answer: UpstreamAnswer) -> Outcome {
    switch answer.status {
    case 200:
      // A coding would have to be undone before anything can be said of the bytes, and pictures are packed already.
      if let coding = answer.fields[.contentEncoding], coding.lowercased() != "identity" {
        return .refused(Malformed("a content coding"))
      }
      do throws(Malformed) {
        return .picture(
          try Picture(answer.body, claimedType: answer.fields[.contentType]), Validators(of: answer.fields))
      } catch {
        return .refused(error)
      }
    case 304: return validators == nil ? .refused(Malformed("unchanged, though nobody asked")) : .notModified
    case 301, 302, 303, 307, 308:
      guard let url = answer.fields[.location].flatMap({ PictureAddress.resolve($0, from: url) }) else {
        return .refused(Malformed("a redirect without a usable address"))
      }
      return .moved(to: url)
    case 408, 429, 500..<600: return .transient(status: answer.status, retryAfter: answer.retryAfter)
    case 400..<500: return .gone(status: answer.status)
    default: return .refused(Malformed("unexpected status \(answer.status)"))
    }
  }
}
