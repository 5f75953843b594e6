import HTTP
import JSONText
import Magpie

/// Lists that apps keep on the device: an array of objects with `login` (people of GitHub, with `avatarUrl`), or with the `id`,
/// `title`, `url`, `username`, `rating` and picture of a GIF. What else an object has is kept in the snapshot.
enum AppListImport {
  static func read(_ bytes: [UInt8]) throws -> ImportReader.Result {
    // An object around it, so that the reader of objects says where something is wrong, from `/items/0` on.
    let wrapped = Array(#"{"items":"#.utf8) + bytes + Array("}".utf8)
    var result = ImportReader.Result()
    result.things.items = try JSONObjectReader.read(
      wrapped, limits: JSONText.Limits(maxBytes: ImportReader.maxBody + 16)
    ) { body in
      guard let view = body.raw("items") else { return [] }
      var items: [FavoriteImport.Item] = []
      for (place, element) in view.elements.enumerated() {
        if place == Favorites.maxCount {
          body.refuse("items", "must not have more than \(Favorites.maxCount) items")
          break
        }
        if let item = item(element) {
          items.append(item)
        } else {
          body.refuse(
            "items/\(place)", "must have the login of a person, or the id of a GIF with a title or an address")
        }
      }
      return items
    }
    return result
  }

  private static func item(_ view: JSONView) -> FavoriteImport.Item? {
    guard view.kind == .object, view.rawBytes.count <= FavoriteBody.maxSnapshot, !FavoriteBody.isTooDeep(view) else {
      return nil
    }
    if let login = view["login"] { return person(login.string, view) }
    return gif(view)
  }

  private static func person(_ login: String?, _ view: JSONView) -> FavoriteImport.Item? {
    guard let login, FavoriteName(.githubUser, "@\(login)") != nil else { return nil }
    var item = FavoriteImport.Item(.githubUser, "@\(login)")
    item.title = login
    item.image = text(view, ["avatarUrl", "avatar_url"], FavoriteBody.maxAddress)
    item.snapshot = view.bytes
    return item
  }

  private static func gif(_ view: JSONView) -> FavoriteImport.Item? {
    guard let id = view["id"]?.string, FavoriteEndpoints.isPlausible(.gif, id) else { return nil }
    guard view["title"] != nil || view["url"] != nil else { return nil }
    var item = FavoriteImport.Item(.gif, id)
    item.title = text(view, ["title"], FavoriteBody.maxText)
    item.subtitle = text(view, ["username"], FavoriteBody.maxText)
    item.url = text(view, ["url"], FavoriteBody.maxAddress)
    let images = view["images"]
    let pictures = [
      images?["fixed_width"], images?["fixedWidth"], images?["downsized"], images?["original"], view["image"],
    ]
    item.image =
      pictures.lazy.compactMap { $0.flatMap { text($0, ["url"], FavoriteBody.maxAddress) } }.first
      ?? text(view, ["imageUrl", "image_url", "image"], FavoriteBody.maxAddress)
    item.snapshot = view.bytes
    return item
  }

  /// The first member that is a text short enough.
  private static func text(_ view: JSONView, _ names: [String], _ limit: Int) -> String? {
    names.lazy.compactMap { view[$0]?.string }.first { !$0.isEmpty && $0.unicodeScalars.count <= limit }
  }
}
