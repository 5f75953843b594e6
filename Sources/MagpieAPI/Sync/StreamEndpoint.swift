import HTTP
import HTTPServer
import Magpie

/// `GET /v1/stream`: changes as they happen, as Server-Sent Events.
struct StreamEndpoint: Sendable {
  let services: Services

  func open(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request)
    let last = try lastEventID(request)
    var since = last
    var page: Sync.Page
    var opening: [UInt8] = []
    switch try await services.sync.pull(since: last, limit: Sync.defaultPage, token: token) {
    case .page(let found): page = found
    case .refused(.nobody): throw APIError.badCredentials
    case .refused(.expired), .refused(.unknownCursor):
      // The stream goes on from now; what was before, the device has to read.
      since = nil
      guard case .page(let found) = try await services.sync.pull(since: nil, limit: 1, token: token) else {
        throw APIError.badCredentials
      }
      page = found
      opening = StreamEvents.resync(.expired, since: nil, id: page.version)
    }
    opening = StreamEvents.opening(at: since ?? page.version) + opening
    let subscription = try subscribe(page, since: since ?? page.version, token: token)
    return Response(
      .ok,
      [
        .contentType: "text/event-stream", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        "X-Accel-Buffering": "no",
      ],
      // The request is not captured: it would keep its buffer for as long as the stream is open.
      .stream { [opening, page, sync = services.sync, hub = services.hub] stream in
        stream.onDisconnect { subscription.finish(.gone) }
        do {
          try await stream.write(opening)
          try await StreamEndpoint.catchUp(subscription, page, sync, hub, stream, token)
        } catch {
          hub.leave(subscription)
          throw error
        }
        stream.goOn { stream in
          defer { hub.leave(subscription) }
          while let bytes = await subscription.next() { try await stream.write(bytes) }
          try await StreamEndpoint.sayGoodbye(subscription, stream)
        }
      })
  }

  private func subscribe(_ page: Sync.Page, since: Int64, token: [UInt8]) throws -> StreamSubscription {
    do throws(StreamHub.Full) {
      return try services.hub.subscribe(page, since: since, token: token)
    } catch {
      var problem =
        switch error {
        case .account:
          Problem(.tooManyRequests, code: "sync/too-many-streams", detail: "The account has too many streams open.")
        case .process:
          Problem(.serviceUnavailable, code: "server/busy", detail: "There are too many streams; try again soon.")
        }
      problem.retryAfter = 5
      throw APIError(problem)
    }
  }

  /// Browsers send the field by themselves; the parameter is for the first connection, on which they cannot.
  private func lastEventID(_ request: Request) throws -> Int64? {
    let text = try request["Last-Event-ID"] ?? Parameters(request.target).text("last_event_id")
    guard let text, !text.isEmpty else { return nil }
    guard text.utf8.allSatisfy(ASCII.isDigit), let version = Int64(text) else {
      throw APIError.badParameter("last_event_id", "must be the id of an event")
    }
    return version
  }

  /// Sends what the device has missed, page by page as it takes them, until it is where the other streams are.
  private static func catchUp(
    _ subscription: StreamSubscription, _ first: Sync.Page, _ sync: Sync, _ hub: StreamHub, _ stream: ResponseStream,
    _ token: [UInt8]
  ) async throws {
    var page = first
    while subscription.end == nil {
      let events = StreamEvents.favorites(page)
      if events.count > 0 {
        try await stream.write(events.bytes)
        hub.count(events.count)
      }
      subscription.caughtUp(to: page.version)
      if !page.hasMore, hub.join(subscription, at: page.version) { return }
      switch try await sync.pull(since: page.version, limit: Sync.defaultPage, token: token) {
      case .page(let next): page = next
      case .refused(.nobody): subscription.finish(.revoked)
      case .refused(.expired), .refused(.unknownCursor): subscription.finish(.expired)
      }
    }
  }

  private static func sayGoodbye(_ subscription: StreamSubscription, _ stream: ResponseStream) async throws {
    switch subscription.end {
    case .drain: try await stream.write(StreamEvents.resync(.drain, since: subscription.version))
    case .slow: try await stream.write(StreamEvents.resync(.slow, since: subscription.version))
    case .expired: try await stream.write(StreamEvents.resync(.expired, since: nil))
    case .revoked, .gone, nil: break
    }
  }
}
