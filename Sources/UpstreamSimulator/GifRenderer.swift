import JSONText

/// Writes GIFs the way GIPHY does: numbers as texts, empty texts for what is not there, renditions that are empty or zero, dates
/// that never were, users that are left out.
struct GifRenderer: Sendable {
  /// Stands in the addresses of media and differs from answer to answer.
  let call: String
  /// Where it was asked for, such as `v1_gifs_search`.
  let endpoint: String

  private static let titles = [
    "Happy Dance GIF by Studio", " GIF", "", "صباح الخير GIF",
    "🎉 Party \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} GIF", "Cat \"Jump\" GIF by A\\B",
    "Slow Clap GIF",
  ]

  func write(_ number: Int, isSticker: Bool, to json: inout JSONWriter) {
    let id = GifLibrary.id(number, isSticker: isSticker)
    let title = Self.titles[number % Self.titles.count]
    json.beginObject()
    json.member("type", "gif")
    json.member("id", id)
    json.member("url", "https://giphy.com/\(isSticker ? "stickers" : "gifs")/sim-\(id)")
    json.member("slug", "sim-\(id)")
    json.member("bitly_gif_url", "https://gph.is/\(number)")
    json.member("bitly_url", "https://gph.is/\(number)")
    json.member("embed_url", "https://giphy.com/embed/\(id)")
    json.member("username", number % 3 == 0 ? "" : "user\(number % 97)")
    json.member("source", number % 2 == 0 ? "" : "http://source.example/\(number)")
    json.member("title", title)
    if number % 4 != 0 { json.member("alt_text", number % 4 == 1 ? "" : "Something moves") }
    json.member("rating", ["g", "g", "pg", "pg-13"][number % 4])
    json.member("content_url", "")
    json.member("source_tld", "")
    json.member("source_post_url", "")
    if number % 6 != 0 { json.member("is_sticker", isSticker ? 1 : 0) }
    json.member("import_datetime", "2019-03-0\(1 + number % 9) 17:46:56")
    json.member(
      "trending_datetime", ["0000-00-00 00:00:00", "1970-01-01 00:00:00", "2024-11-28 06:15:01"][number % 3])
    json.key("images")
    images(id, number, isSticker, to: &json)
    if number % 3 != 0 { user("user\(number % 97)", to: &json) }
    json.member("analytics_response_payload", "e=\(call)\(number)")
    json.key("analytics")
    json.beginObject()
    for event in ["onload", "onclick", "onsent"] {
      json.key(event)
      json.beginObject()
      json.member(
        "url", "https://giphy-analytics.giphy.com/v2/pingback_simple?analytics_response_payload=\(call)&action=\(event)"
      )
      json.endObject()
    }
    json.endObject()
    json.endObject()
  }

  private func images(_ id: String, _ number: Int, _ isSticker: Bool, to json: inout JSONWriter) {
    func address(_ file: String) -> String {
      "https://media\(number % 5).giphy.com/media/\(id)/\(file)?cid=\(call)&ep=\(endpoint)&rid=\(file)&ct=\(isSticker ? "s" : "g")"
    }
    func rendition(_ name: String, _ width: Int, _ height: Int, _ file: String, isAnimated: Bool) {
      json.key(name)
      json.beginObject()
      json.member("height", "\(height)")
      json.member("width", "\(width)")
      json.member("size", "\(100_000 + number % 900_000)")
      json.member("url", address("\(file).gif"))
      if isAnimated {
        json.member("mp4_size", "\(30_000 + number % 9_000)")
        json.member("mp4", address("\(file).mp4"))
        json.member("webp_size", "\(60_000 + number % 9_000)")
        json.member("webp", address("\(file).webp"))
      }
      json.endObject()
    }
    json.beginObject()
    rendition("original", 480, 270 + number % 200, "giphy", isAnimated: true)
    rendition("fixed_height", 356, 200, "200", isAnimated: true)
    if number % 7 != 0 { rendition("fixed_width", 200, 113, "200w", isAnimated: true) }
    rendition("fixed_width_small_still", 100, 56, "100w_s", isAnimated: false)
    rendition("downsized", 480, 270, "giphy-downsized", isAnimated: false)
    json.key("hd")
    json.beginObject()
    json.endObject()
    json.key("preview_gif")
    json.beginObject()
    if number % 5 == 0 {
      json.member("height", "0")
      json.member("width", "0")
      json.member("size", "0")
      json.member("url", "")
    } else {
      json.key("height")
      json.int(50)
      json.member("width", "89")
      json.member("size", "48000")
      json.member("url", address("giphy-preview.gif"))
    }
    json.endObject()
    json.endObject()
  }

  private func user(_ name: String, to json: inout JSONWriter) {
    json.key("user")
    json.beginObject()
    json.member("avatar_url", "https://media.giphy.com/avatars/\(name).gif")
    json.member("banner_image", "")
    json.member("banner_url", "")
    json.member("profile_url", "https://giphy.com/\(name)/")
    json.member("username", name)
    json.member("display_name", name.uppercased())
    json.member("description", "")
    json.member("instagram_url", "")
    json.member("website_url", "")
    json.key("is_verified")
    json.bool(name.utf8.count % 2 == 0)
    json.endObject()
  }
}
