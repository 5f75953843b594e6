import HTTP

/// The address of a person's picture, with the size one wants.
public enum PictureAddress {
  /// The longest address taken, in bytes.
  public static let maxBytes = 2_048

  /// The same picture in a size, by editing the query: `…?v=4` becomes `…?v=4&s=80`. A size that is there is replaced, and
  /// what somebody has appended with a second question mark is put right.
  ///
  /// - Returns: `nil` for what is no plain absolute URL.
  public static func sized(_ url: String, pixels: Int) -> String? {
    guard url.utf8.count <= maxBytes, Origin(of: url) != nil else { return nil }
    let parts = url.split(separator: "?", omittingEmptySubsequences: false)
    let items = parts.dropFirst().joined(separator: "&").split(separator: "&").filter { item in
      let name = item.prefix { $0 != "=" }
      return name != "s" && name != "size"
    }
    return "\(parts[0])?" + (items.map(String.init) + ["s=\(pixels)"]).joined(separator: "&")
  }

  /// Where a redirect leads: an absolute URL. `nil` for what makes no sense.
  public static func resolve(_ location: String, from url: String) -> String? {
    if location.hasPrefix("/"), !location.hasPrefix("//") {
      guard let origin = Origin(of: url) else { return nil }
      let target = origin.description + location
      return Origin(of: target) == nil ? nil : target
    }
    return Origin(of: location) == nil ? nil : location
  }
}
