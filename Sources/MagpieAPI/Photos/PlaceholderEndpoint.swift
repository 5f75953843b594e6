import HTTP
import HTTPServer
import Magpie

/// `GET /images/placeholder/{size}/{color}.png`: a rectangle of one color, drawn for the occasion and the same for ever.
enum PlaceholderEndpoint {
  /// Where the pictures are.
  static let place = "/images/placeholder"

  static func show(_ request: Request) throws -> Response {
    let image = try image(size: request.parameters["size"] ?? "", file: request.parameters["file"] ?? "")
    return PictureAnswer.placeholder(image.png, for: request)
  }

  private static func image(size: String, file: String) throws(APIError) -> PlaceholderImage {
    let sides = size.split(separator: "x", maxSplits: 1, omittingEmptySubsequences: false).map(side)
    guard let width = sides.first ?? nil, let height = sides.last ?? nil else {
      throw .badParameter(
        "size",
        "must be \(PlaceholderImage.sides.lowerBound) to \(PlaceholderImage.sides.upperBound) pixels, or two such with an x between"
      )
    }
    let digits = file.hasSuffix(".png") ? file.dropLast(4) : ""
    guard digits.utf8.count == 6, digits.utf8.allSatisfy({ ASCII.hexValue($0) != nil }),
      let color = UInt32(digits, radix: 16),
      let image = PlaceholderImage(width: width, height: height, color: color)
    else { throw .badParameter("file", "must be six hexadecimal digits of a color and .png") }
    return image
  }

  private static func side(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), text.utf8.first != 0x30
    else { return nil }
    return Int(text).flatMap { PlaceholderImage.sides.contains($0) ? $0 : nil }
  }
}
