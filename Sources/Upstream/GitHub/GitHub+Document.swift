import JSONText

extension GitHub {
  /// Reading members the way GitHub's documents need it: strict about identity, lenient about all else.
  enum Document {
    /// The longest login taken, in bytes.
    static let maxLoginBytes = 255

    /// A body as a checked and cleaned document.
    static func view(_ body: [UInt8], maxBytes: Int) throws(Malformed) -> JSONView {
      do throws(JSONText.Invalid) {
        return try JSONView(cleaning: body, limits: JSONText.Limits(maxBytes: maxBytes))
      } catch {
        throw Malformed(error.debugDescription)
      }
    }

    /// An account's id and login, without which a document is of no use.
    static func identity(of view: JSONView, at pointer: @autoclosure () -> String) throws(Malformed) -> (Int64, String)
    {
      guard let id = view["id"]?.int, id > 0 else { throw Malformed("not a positive integer", at: pointer() + "/id") }
      guard let login = view["login"]?.string, (1...maxLoginBytes).contains(login.utf8.count) else {
        throw Malformed("not a login", at: pointer() + "/login")
      }
      return (id, login)
    }

    /// A string that says something; GitHub has both `null` and `""` for what is unset.
    static func text(_ view: JSONView?) -> String? { view?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// The longest display name that is searched by, in characters: GitHub's own end at 255, and an index has room for no more.
    static let maxName = 255

    /// A display name. The document keeps the whole of it.
    static func name(_ view: JSONView?) -> String? {
      view?.string.map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(maxName))) }
    }

    /// A number of things.
    static func count(_ view: JSONView?) -> Int64? { view?.int.flatMap { $0 >= 0 ? $0 : nil } }
  }
}
