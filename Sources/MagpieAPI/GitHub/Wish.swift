import HTTP
import HTTPServer

/// How fresh a client wants mirrored data, and how long it would wait for it.
struct Wish {
  /// Seconds a client may ask to wait at most.
  static let maxWait = 30
  /// Seconds to wait when nothing is stored and the client says nothing.
  static let defaultWait = 10

  /// Refresh even if what is stored is fresh.
  let refreshes: Bool
  /// Never ask the upstream.
  let onlyStored: Bool
  /// Seconds of age the client accepts, if it accepts less than we do.
  let maxAge: Double?
  /// Answer with a job instead of waiting.
  let respondsAsync: Bool
  /// `wait=N`, if it was said.
  private let wait: Int?

  init(_ request: Request) {
    var fields: Fields = [:]
    if let value = request[joined: .prefer] { fields.append(.prefer, value) }
    if let value = request[joined: .cacheControl] { fields.append(.cacheControl, value) }
    let prefer = Prefer(fields)
    let control = CacheControl(fields)
    refreshes = control.noCache
    onlyStored = control.onlyIfCached
    maxAge = control.maxAge.map(Double.init)
    respondsAsync = prefer.respondAsync
    wait = prefer.wait.map { min(max(0, $0), Wish.maxWait) }
  }

  /// How long to wait for a first answer.
  var waitForFirst: Duration { max(.zero, .seconds(wait ?? Wish.defaultWait) - spent) }
  /// How long to wait for a fresher answer than the stored one.
  var waitForFresher: Duration { max(.zero, .seconds(wait ?? 0) - spent) }
  /// What other parts of the same answer have been waited for.
  var spent = Duration.zero
}
