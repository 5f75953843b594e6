import HTTPServer
import JSONText

/// Commands about photos and GIFs.
extension SteeringAPI {
  /// `nil` when the command is none of these.
  func media(_ name: String, _ body: [UInt8]) throws -> Response? {
    switch name {
    case "photos":
      let (count, id, title) = try JSONObjectReader.read(body) { reader in
        (
          reader.optional("count", as: Int64.self), reader.optional("id", as: Int64.self),
          reader.optional("title", as: String.self)
        )
      }
      return done { world in
        if let count { world.library.setCount(Int(clamping: count)) }
        if let id, let title { world.library.rename(Int(clamping: id), title) }
      }
    case "gifs":
      let (limit, keys, removed) = try JSONObjectReader.read(body) { reader in
        (
          reader.optional("limit", as: Int64.self), reader.list("keys", of: String.self, maxCount: 100),
          reader.optional("removed", as: String.self)
        )
      }
      return done { world in
        if let limit { world.gifLibrary.limit = Int(clamping: max(0, limit)) }
        if let keys { world.gifLibrary.keys = Set(keys) }
        if let removed { world.gifLibrary.remove(removed) }
      }
    default: return nil
    }
  }
}
