import HTTP

/// The addresses of the two other services: photos at the root, as jsonplaceholder has them, and GIFs below `/v1`, as GIPHY
/// has them. None of them is GitHub's.
enum MediaRoute: Equatable, Sendable {
  case photos
  case photo(Int)
  case albums
  case album(Int)
  case photosOfAlbum(Int)
  case gifs(Gifs, isSticker: Bool)
  /// Below `/v1` and nothing that is known.
  case unknownGifs

  /// What GIPHY is asked for.
  enum Gifs: Equatable, Sendable {
    case trending
    case search
    case random
    case tags
    case several
    case one(String)
  }

  /// `nil`: an address of GitHub's, or of nobody.
  init?(_ target: Target) {
    var segments = target.segments
    if segments.count > 1, segments.last == "" { segments.removeLast() }
    switch (segments.count, segments.first) {
    case (1, "photos"): self = .photos
    case (2, "photos"): self = .photo(Int(segments[1]) ?? 0)
    case (1, "albums"): self = .albums
    case (2, "albums"): self = .album(Int(segments[1]) ?? 0)
    case (3, "albums") where segments[2] == "photos": self = .photosOfAlbum(Int(segments[1]) ?? 0)
    case (2...4, "v1"): self = MediaRoute.gifs(Array(segments.dropFirst()))
    default: return nil
    }
  }

  private static func gifs(_ segments: [String]) -> MediaRoute {
    guard ["gifs", "stickers"].contains(segments[0]) else { return .unknownGifs }
    let isSticker = segments[0] == "stickers"
    switch (segments.count, segments.dropFirst().joined(separator: "/")) {
    case (1, _): return .gifs(.several, isSticker: isSticker)
    case (2, "trending"): return .gifs(.trending, isSticker: isSticker)
    case (2, "search"): return .gifs(.search, isSticker: isSticker)
    case (2, "random"): return .gifs(.random, isSticker: isSticker)
    case (3, "search/tags"): return .gifs(.tags, isSticker: isSticker)
    case (2, let id): return .gifs(.one(id), isSticker: isSticker)
    default: return .unknownGifs
    }
  }

  /// For the statistics.
  var name: String {
    switch self {
    case .photos: "/photos"
    case .photo: "/photos/{id}"
    case .albums: "/albums"
    case .album: "/albums/{id}"
    case .photosOfAlbum: "/albums/{id}/photos"
    case .gifs(let gifs, let isSticker):
      "/v1/\(isSticker ? "stickers" : "gifs")"
        + {
          switch gifs {
          case .trending: "/trending"
          case .search: "/search"
          case .random: "/random"
          case .tags: "/search/tags"
          case .several: ""
          case .one: "/{id}"
          }
        }()
    case .unknownGifs: "/v1"
    }
  }
}
