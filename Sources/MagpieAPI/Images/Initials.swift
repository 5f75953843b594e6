import Magpie

/// A picture for whoever has none: one or two letters on a color that is always the same for the same person.
///
/// The text is made of letters and digits of the login and of nothing else, so there is nothing to be escaped.
enum Initials {
  private static let colors: [StaticString] = [
    "#8b5a2b", "#6a7b3c", "#2f6f6a", "#3a6ea5", "#5b5ea6", "#7d4f9e", "#9b4f72", "#a5483a", "#4f6d4a", "#566573",
    "#806517", "#45696b",
  ]

  /// The drawing, SVG.
  static func draw(login: String, id: Int64, size: AvatarRequest.Size) -> [UInt8] {
    let color = colors[Int(id % Int64(colors.count))]
    let side = size.rawValue
    return Array(
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(side)" height="\(side)" viewBox="0 0 100 100">\
      <rect width="100" height="100" fill="\(color)"/>\
      <text x="50" y="50" dy=".35em" text-anchor="middle" font-family="sans-serif" font-size="44" fill="#fff">\
      \(letters(of: login))</text></svg>

      """.utf8)
  }

  /// The first letters of the first two parts of a login; of what has none, a question mark.
  static func letters(of login: String) -> String {
    let parts = login.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    let letters = parts.prefix(2).compactMap(\.first)
    return letters.isEmpty ? "?" : String(letters).uppercased()
  }
}
