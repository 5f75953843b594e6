/// Server-Sent Events, as text (WHATWG HTML, 9.2). All data are JSON without line breaks, so one `data` line each.
public enum StreamEvents {
  /// Why a device is told to ask by itself.
  public enum Reason: String, Sendable {
    /// This server is about to end; another goes on where this one stopped.
    case drain
    /// The device took its events too slowly.
    case slow
    /// Deletions since its cursor have been forgotten, or the cursor is not known: it has to read everything.
    case expired
  }

  /// One entry of a delta.
  static func append(_ entry: UnsafeRawBufferPointer, version: Int64, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: "event: favorites\nid: \(version)\ndata: ".utf8)
    bytes.append(contentsOf: entry)
    bytes.append(contentsOf: "\n\n".utf8)
  }

  /// The entries of a page, and how many there are.
  public static func favorites(_ page: Sync.Page) -> (bytes: [UInt8], count: Int) {
    var bytes: [UInt8] = []
    page.forEachEntry { append($1, version: $0, to: &bytes) }
    return (bytes, page.count)
  }

  /// The first event: where the stream begins, so that a device that is cut off before the first change knows it. Browsers
  /// connect again a second after the end.
  public static func opening(at version: Int64) -> [UInt8] {
    Array("retry: 1000\nevent: ping\nid: \(version)\ndata: {\"version\":\(version)}\n\n".utf8)
  }

  /// A sign of life.
  static func ping(at version: Int64) -> [UInt8] { Array("event: ping\ndata: {\"version\":\(version)}\n\n".utf8) }

  /// Asks a device to look by itself.
  ///
  /// - Parameters:
  ///   - since: what it has; `nil` when it has to read everything.
  ///   - id: where the stream goes on, if it does.
  public static func resync(_ reason: Reason, since: Int64?, id: Int64? = nil) -> [UInt8] {
    var text = "event: resync\n"
    if let id { text += "id: \(id)\n" }
    text += "data: {\"reason\":\"\(reason.rawValue)\",\"resync_url\":\"/v1/sync?since=\(since ?? 0)\"}\n\n"
    return Array(text.utf8)
  }

  /// Progress of a job the account has asked for.
  static func job(_ status: [UInt8]) -> [UInt8] { Array("event: job\ndata: ".utf8) + status + Array("\n\n".utf8) }
}
