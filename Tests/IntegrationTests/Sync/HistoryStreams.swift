import EventLoop
import JSONText
import WorldSupport

/// The event streams of a history's devices, which are open from beginning to end beside what the devices push and pull.
struct HistoryStreams {
  private let streams: [EventClient]
  /// For each edit by hand, how long after its commit the last device knew of it.
  private(set) var delays: [Duration] = []

  /// Opens one for each token.
  init(_ tokens: [String], _ world: TestWorld) async throws {
    streams = try tokens.map { try EventClient(world.servers[0].baseURL, as: $0) }
    for stream in streams { try await stream.opened() }
  }

  /// Waits until all devices have been told of a version that was just committed.
  mutating func hear(of version: Int64) async throws {
    let start = System.monotonicNanoseconds()
    for stream in streams {
      try await stream.until("a device is told of \(version)") { $0.isOver || ($0.lastID ?? 0) >= version }
      if stream.isOver { throw HistoryFault(text: "a stream has ended before version \(version)") }
    }
    delays.append(.nanoseconds(Int64(System.monotonicNanoseconds() - start)))
  }

  /// What somebody has who was told everything by a stream and never asked; one for each.
  func told() throws -> [HistoryDevice] {
    try streams.enumerated().map { index, stream in
      let entries = stream.events(named: "favorites").map(\.data).joined(separator: ",")
      var device = HistoryDevice(
        name: "s\(index)", token: "", usesTagsOperation: false, resolvesForItself: false, clock: "")
      device.apply(try JSONView(Array("[\(entries)]".utf8)), version: 0)
      return device
    }
  }
}
