import HTTP
import HTTPServer
import Magpie

/// Every route of the API on one screen.
public enum Routes {
  /// The table of the public listener.
  ///
  /// - Parameter onFailure: told of errors that are this server's own fault, for the log.
  /// - Throws: `Router.Invalid` if two routes take the same requests.
  public static func api(
    _ services: Services, onFailure: @escaping @Sendable (any Error, Request) -> Void = { _, _ in }
  ) throws(Router.Invalid) -> RouteTable {
    let signIn = SignInEndpoints(services: services)
    let sessions = SessionEndpoints(services: services)
    let account = AccountEndpoints(services: services)
    let idempotency = IdempotencyMiddleware(services: services)
    let favorites = FavoriteEndpoints(services: services)
    let collections = CollectionEndpoints(services: services)
    let activity = ActivityEndpoints(services: services)
    let transfer = TransferEndpoints(services: services)
    let profile = ProfileEndpoint(services: services)
    let followers = ListEndpoint(services: services, kind: .followers)
    let following = ListEndpoint(services: services, kind: .following)
    let rateLimit = RateLimitEndpoint(services: services)
    let userSearch = SearchEndpoint(services: services, kind: .users)
    let repositorySearch = SearchEndpoint(services: services, kind: .repositories)
    let avatars = AvatarEndpoint(services: services)
    let images = ImageEndpoint(services: services)
    let refresh = RefreshEndpoint(services: services)
    let cards = CardsEndpoint(services: services)
    let things = ItemListEndpoint(services: services)
    let repository = RepositoryEndpoint(services: services)
    let followerChanges = ChangesEndpoint(services: services, kind: .followers)
    let followingChanges = ChangesEndpoint(services: services, kind: .following)
    let relations = RelationsEndpoint(services: services)
    let photos = PhotoEndpoints(services: services, collection: .photos)
    let gifs = [GifEndpoints(services: services, kind: .gifs), GifEndpoints(services: services, kind: .stickers)]
    let albums = PhotoEndpoints(services: services, collection: .albums)
    let jobs = JobEndpoints(services: services)
    let sync = SyncEndpoints(services: services)
    let stream = StreamEndpoint(services: services)
    let about = AboutEndpoints(services: services)

    var router = Router()
    router.group("/v1", through: [idempotency.run]) { router in
      router.on(.post, "/accounts", signIn.signUp)
      router.on(.post, "/invitations/redeem", signIn.redeem)
      router.on(.post, "/sessions", signIn.signIn)
      router.on(.get, "/sessions", sessions.list)
      router.on(.delete, "/sessions/current", sessions.removeCurrent)
      router.on(.delete, "/sessions/{id}", sessions.remove)
      router.on(.get, "/account", account.show)
      router.on(.patch, "/account", account.change)
      router.on(.delete, "/account", account.remove)
      router.on(.put, "/account/password", account.changePassword)
      router.on(.post, "/account/restore", signIn.restore)
      router.on(.get, "/favorites", favorites.list)
      router.on(.get, "/favorites/{kind}/{id}", favorites.show)
      router.on(.put, "/favorites/{kind}/{id}", favorites.put)
      router.on(.patch, "/favorites/{kind}/{id}", favorites.patch)
      router.on(.delete, "/favorites/{kind}/{id}", favorites.remove)
      router.on(.post, "/favorites/{kind}/{id}/restore", favorites.restore)
      router.on(.get, "/collections", collections.list)
      router.on(.post, "/collections", collections.create)
      router.on(.get, "/collections/{id}", collections.show)
      router.on(.patch, "/collections/{id}", collections.change)
      router.on(.delete, "/collections/{id}", collections.remove)
      router.on(.get, "/account/export", transfer.export)
      router.on(.post, "/account/import", transfer.bring)
      router.on(.post, "/activity", activity.record)
      router.on(.get, "/widget", activity.widget)
      router.on(.get, "/sync", sync.pull)
      router.on(.post, "/sync", sync.push)
      router.on(.get, "/sync/checksum", sync.checksum)
      router.on(.get, "/stream", stream.open)
      router.on(.get, "/jobs/{id}", jobs.show)
      router.on(.delete, "/jobs/{id}", jobs.withdraw)
      router.immediately(.get, "/config", about.config)
      router.immediately(.get, "/version", about.version)
    }
    router.group("/github", through: [idempotency.run]) { router in
      router.on(.get, "/rate_limit", rateLimit.show)
      router.on(.get, "/search/users", userSearch.show)
      router.on(.get, "/search/repositories", repositorySearch.show)
      router.on(.get, "/avatars/{id}", avatars.show)
      router.on(.get, "/users", cards.show)
      router.on(.get, "/users/{login}", profile.show)
      router.on(.get, "/user/{id}", profile.show)
      router.on(.post, "/users/{login}/refresh", refresh.order)
      router.on(.post, "/user/{id}/refresh", refresh.order)
      router.on(.get, "/users/{login}/followers", followers.show)
      router.on(.get, "/user/{id}/followers", followers.show)
      router.on(.get, "/users/{login}/following", following.show)
      router.on(.get, "/user/{id}/following", following.show)
      router.on(.get, "/users/{login}/repos", things.repositories)
      router.on(.get, "/user/{id}/repos", things.repositories)
      router.on(.get, "/users/{login}/gists", things.gists)
      router.on(.get, "/user/{id}/gists", things.gists)
      router.on(.get, "/users/{login}/orgs", things.organizations)
      router.on(.get, "/user/{id}/orgs", things.organizations)
      router.on(.get, "/repos/{owner}/{repo}", repository.show)
      router.on(.get, "/repositories/{id}", repository.show)
      router.on(.get, "/repos/{owner}/{repo}/languages", repository.languages)
      router.on(.get, "/repositories/{id}/languages", repository.languages)
      router.on(.get, "/repos/{owner}/{repo}/commits", repository.commits)
      router.on(.get, "/repositories/{id}/commits", repository.commits)
      router.on(.get, "/users/{login}/relations", relations.show)
      router.on(.get, "/user/{id}/relations", relations.show)
      for (list, changes) in [("followers", followerChanges), ("following", followingChanges)] {
        router.on(.get, "/users/{login}/\(list)/changes", changes.show)
        router.on(.get, "/user/{id}/\(list)/changes", changes.show)
        router.on(.get, "/users/{login}/\(list)/history", changes.history)
        router.on(.get, "/user/{id}/\(list)/history", changes.history)
      }
    }
    router.group("/jsonplaceholder") { router in
      for slash in ["", "/"] {
        router.on(.get, "/photos\(slash)", photos.list)
        router.on(.get, "/photos/{id}\(slash)", photos.show)
        router.on(.get, "/albums\(slash)", albums.list)
        router.on(.get, "/albums/{id}\(slash)", albums.show)
        router.on(.get, "/albums/{id}/photos\(slash)", albums.photosOfAlbum)
      }
    }
    router.group("/giphy/v1") { router in
      for gifs in gifs {
        router.on(.get, "/\(gifs.kind.rawValue)", gifs.several)
        router.on(.get, "/\(gifs.kind.rawValue)/trending", gifs.trending)
        router.on(.get, "/\(gifs.kind.rawValue)/search", gifs.search)
        router.on(.get, "/\(gifs.kind.rawValue)/search/tags", gifs.tags)
        router.on(.get, "/\(gifs.kind.rawValue)/random", gifs.random)
        router.on(.get, "/\(gifs.kind.rawValue)/{id}", gifs.show)
      }
    }
    router.immediately(.get, "/images/placeholder/{size}/{file}", PlaceholderEndpoint.show)
    router.on(.get, "/images/{sha256}", images.show)
    router.immediately(.get, "/problems/{area}/{name}", about.problem)
    router.immediately(.get, "/openapi.json", about.openAPI)
    if services.settings.echoes {
      for method in [Method.get, .post, .put, .patch, .delete] { router.on(method, "/_echo", EchoEndpoint.answer) }
    }
    return try router.build { error, request in
      let response = ErrorResponses.response(to: error, request)
      if response.status == .internalServerError { onFailure(error, request) }
      return response
    }
  }

  /// The table of the admin listener.
  ///
  /// - Throws: `Router.Invalid` if two routes take the same requests.
  public static func admin(_ health: Health) throws(Router.Invalid) -> RouteTable {
    var router = Router()
    router.immediately(.get, "/livez", health.live)
    router.on(.get, "/readyz", health.ready)
    router.immediately(.get, "/metrics", health.metrics)
    return try router.build { ErrorResponses.response(to: $0, $1) }
  }
}
