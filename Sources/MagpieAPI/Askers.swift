import EventLoop
import HTTPServer
import Magpie

/// Whose requests are whose, for the log.
///
/// Most reads learn the account in the statement that does their work, and never hand it out. A token is one account's for as long
/// as it lives, so that each process asks once; what became of the token since, the read itself finds out.
final class Askers: Sendable {
  /// What `Request.label` is until it is known whose the token is.
  static let somebody: Int64 = -1
  /// Tokens remembered at most; one that is forgotten is asked for again.
  static let capacity = 16_384

  private let accounts: Accounts
  private let known = Lock<[[UInt8]: Int64]>([:])

  init(accounts: Accounts) { self.accounts = accounts }

  /// Labels a request with its account, if that can be told.
  ///
  /// - Parameter isAnswered: whether the database has certainly answered, and the token was somebody's: only then is it asked,
  ///   so that a request that failed for its silence does not wait for it a second time.
  func label(_ request: Request, token: [UInt8], isAnswered: Bool) async {
    if let account = known.withLock({ $0[token] }) {
      request.label = account
    } else if isAnswered, let account = try? await accounts.account(of: token) {
      known.withLock { known in
        if known.count >= Askers.capacity { known.removeAll(keepingCapacity: true) }
        known[token] = account
      }
      request.label = account
    }
  }
}
