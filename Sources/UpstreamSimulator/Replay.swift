import HTTP
import JSONText

/// Recorded exchanges, served as they were recorded.
///
/// The document is an array of `{path, status, headers, body}`: `path` with its query, `body` a text or any JSON value. Query
/// items may come in any order. Several recordings of one path are served one after the other, the last one for ever.
/// Links in `Link` and `Location` fields lead to the simulator; bodies stay as they are.
public struct Replay: Sendable {
  /// The document cannot be served.
  public struct Invalid: Error, CustomStringConvertible {
    /// What is wrong with it, and where.
    public let description: String
  }

  private struct Recording {
    let status: Int
    let fields: Fields
    let body: [UInt8]
  }

  private var recordings: [String: [Recording]] = [:]
  private let ignoresPaging: Bool

  /// The largest document taken, in bytes.
  public static let maxBytes = 64 * 1024 * 1024

  /// Reads the document.
  ///
  /// - Parameter ignoresPaging: whether a request's `page` and `per_page` may be missing in the recording.
  /// - Throws: `Invalid`.
  public init(_ document: [UInt8], ignoresPaging: Bool = false) throws(Invalid) {
    self.ignoresPaging = ignoresPaging
    let view: JSONView
    do throws(JSONText.Invalid) {
      view = try JSONView(document, limits: JSONText.Limits(maxBytes: Replay.maxBytes, maxDepth: 128))
    } catch {
      throw Invalid(description: "not JSON: \(error)")
    }
    guard view.kind == .array else { throw Invalid(description: "not an array") }
    for (index, item) in view.elements.enumerated() {
      guard let path = item["path"]?.string, let target = try? Target(path), let status = item["status"]?.int,
        (200...599).contains(status)
      else { throw Invalid(description: "no path or status in exchange \(index)") }
      let key = Replay.key(target.path, target.query.items)
      recordings[key, default: []].append(
        Recording(status: Int(status), fields: Replay.fields(item["headers"]), body: Replay.body(item["body"])))
    }
  }

  /// The next recording of a target. `nil` when there is none.
  mutating func answer(_ target: Target, base: String) -> Reply? {
    let items = target.query.items
    var key = Replay.key(target.path, items)
    if recordings[key] == nil, ignoresPaging {
      key = Replay.key(target.path, items.filter { $0.name != "page" && $0.name != "per_page" })
    }
    guard let recording = recordings[key]?.first else { return nil }
    if let count = recordings[key]?.count, count > 1 { recordings[key]?.removeFirst() }
    var reply = Reply(Status(recording.status), recording.fields, body: recording.body)
    if let location = reply.fields[.location] { reply.fields.set(.location, Replay.rebased(location, base)) }
    if let link = reply.fields[joined: .link] {
      reply.links = Link.parse(link).map { link in
        var link = link
        link.target = Replay.rebased(link.target, base)
        return link
      }
    }
    return reply
  }

  /// What concerned the recorded connection, or is the server's to write.
  private static let dropped: Set<Fields.Name> = [
    .connection, .contentEncoding, .contentLength, .transferEncoding, .date, .server, "Keep-Alive", "Status",
    .strictTransportSecurity,
  ]

  private static func fields(_ view: JSONView?) -> Fields {
    var fields = Fields()
    guard let view, view.kind == .object else { return fields }
    for (key, value) in view.members {
      guard let name = Fields.Name(key), !dropped.contains(name), let text = value.string else { continue }
      fields.append(name, text)
    }
    return fields
  }

  private static func body(_ view: JSONView?) -> [UInt8] {
    guard let view, !view.isNull else { return [] }
    return view.string.map { Array($0.utf8) } ?? view.bytes
  }

  private static func key(_ path: Substring, _ items: [Target.Query.Item]) -> String {
    let sorted = items.map { "\($0.name)=\($0.value)" }.sorted()
    return "\(path)?\(sorted.joined(separator: "&"))"
  }

  private static func rebased(_ address: String, _ base: String) -> String {
    for host in ["https://api.github.com", "https://api.github.com:443"] where address.hasPrefix("\(host)/") {
      return base + address.dropFirst(host.count)
    }
    return address
  }
}
