import HTTPClient
import Postgres
import Upstream

/// What a worker needs for photos and GIFs.
public struct MediaRefreshes: Sendable {
  /// The handlers, to be given to the worker.
  public let handlers: [any JobHandler]
  private let gates: [SourceGate]

  /// - Parameters:
  ///   - giphyKey: `nil`: nothing is asked of GIPHY.
  ///   - giphyLimit: calls an hour that the key allows.
  ///   - client: may ask the origins of both services.
  ///   - database: with the role `magpie_worker`.
  public init(
    photos: UpstreamService, giphy: UpstreamService, giphyKey: Upstream.Credential?, giphyLimit: Int,
    client: HTTPClient, budgets: Budgets, database: Database
  ) {
    let photoGate = SourceGate.photos(photos, client: client, budgets: budgets)
    let giphyGate = giphyKey.map {
      SourceGate.giphy(giphy, key: $0, limit: giphyLimit, client: client, budgets: budgets)
    }
    gates = [photoGate] + (giphyGate.map { [$0] } ?? [])
    handlers =
      PhotoRefresh.all(gate: photoGate, database: database) + [GifRefresh(gate: giphyGate, database: database)]
  }

  /// Announces the credentials; to be repeated as long as they are used.
  ///
  /// - Throws: `PostgresError`.
  public func register() async throws {
    for gate in gates { try await gate.register() }
  }
}
