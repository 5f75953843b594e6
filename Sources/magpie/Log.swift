import CLinux
import EventLoop
import Glibc
import HTTP
import JSONText
import Synchronization

/// One line an event, on standard error.
///
/// Lines are put into a buffer and written by a thread of their own, so that a slow terminal or pipe never holds up an event
/// loop. When the reader cannot keep up, lines are dropped and counted rather than kept without bound.
final class Log: Sendable {
  enum Format: Sendable { case text, json }

  enum Level: Int, CaseIterable, Comparable, Sendable {
    case debug, info, warning, error
    static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  /// Bytes that may wait to be written.
  static let maxBuffered = 1 << 20
  /// Seconds for which the end of the process waits for a reader.
  private static let patience = 1

  private struct State {
    var buffer: [UInt8] = []
    var dropped = 0
    var isEnding = false
    var thread: pthread_t?
  }

  private let format: Format
  private let level: Level
  private let state = Mutex(State())
  private let wakeUp: Int32

  init(_ format: Format, _ level: Level) throws {
    self.format = format
    self.level = level
    wakeUp = eventfd(0, Int32(EFD_CLOEXEC))
    if wakeUp < 0 { throw SystemError("eventfd") }
  }

  /// Starts the thread that writes.
  func start() throws {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Log>.fromOpaque(context).takeRetainedValue().writeLines()
        return nil
      }, context)
    if code != 0 { throw SystemError("pthread_create", code: code) }
    let started = thread
    state.withLock { $0.thread = started }
  }

  /// Whether lines of a level are written at all.
  func takes(_ level: Level) -> Bool { level >= self.level }

  /// Adds a line. Values must hold no secret.
  func write(_ level: Level, _ event: StaticString, _ values: [(StaticString, Value)] = []) {
    guard takes(level) else { return }
    let line = line(level, event, values)
    let wakes = state.withLock { state in
      if state.buffer.count + line.count > Log.maxBuffered {
        state.dropped += 1
        return false
      }
      defer { state.buffer += line }
      return state.buffer.isEmpty
    }
    if wakes { signal() }
  }

  /// A value of a line.
  enum Value: Sendable {
    case text(String)
    case number(Int64)
    case milliseconds(UInt64)
  }

  /// Writes what is buffered and ends; but whoever does not read the lines does not hold up the end of the process.
  func finish() {
    let thread = state.withLock { state in
      state.isEnding = true
      return state.thread.take()
    }
    signal()
    guard let thread else { return }
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += Log.patience
    if pthread_timedjoin_np(thread, nil, &deadline) != 0 { pthread_detach(thread) }
  }

  private func signal() {
    var one: UInt64 = 1
    _ = Glibc.write(wakeUp, &one, 8)
  }

  private func writeLines() {
    var value: UInt64 = 0
    while true {
      _ = read(wakeUp, &value, 8)
      var (lines, dropped, isEnding) = state.withLock { state in
        defer {
          state.buffer = []
          state.dropped = 0
        }
        return (state.buffer, state.dropped, state.isEnding)
      }
      if dropped > 0 { lines += line(.warning, "log lines dropped", [("count", .number(Int64(dropped)))]) }
      lines.withUnsafeBytes { bytes in
        var sent = 0
        while sent < bytes.count {
          let count = Glibc.write(STDERR_FILENO, bytes.baseAddress! + sent, bytes.count - sent)
          if count < 0 && errno == EAGAIN {
            // Whoever started us has made it non-blocking.
            var reader = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
            poll(&reader, 1, -1)
          } else if count < 0 && errno != EINTR {
            return
          }
          sent += max(0, count)
        }
      }
      if isEnding { return }
    }
  }

  // MARK: Lines

  private func line(_ level: Level, _ event: StaticString, _ values: [(StaticString, Value)]) -> [UInt8] {
    format == .json ? Log.json(level, event, values) : Log.text(level, event, values)
  }

  private static func json(_ level: Level, _ event: StaticString, _ values: [(StaticString, Value)]) -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.key("at")
    writer.string(now)
    writer.key("level")
    writer.string("\(level)")
    writer.key("event")
    writer.string("\(event)")
    for (name, value) in values {
      writer.key(name)
      switch value {
      case .text(let text): writer.string(text)
      case .number(let number): writer.int(number)
      case .milliseconds(let nanoseconds): writer.double(Double(nanoseconds / 1_000) / 1_000)
      }
    }
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  private static func text(_ level: Level, _ event: StaticString, _ values: [(StaticString, Value)]) -> [UInt8] {
    var line = "\(now) \(level) \(event)"
    for (name, value) in values {
      switch value {
      case .text(let text): line += " \(name)=\(printable(text))"
      case .number(let number): line += " \(name)=\(number)"
      case .milliseconds(let nanoseconds): line += " \(name)=\(Double(nanoseconds / 1_000) / 1_000)ms"
      }
    }
    return Array(line.utf8) + [UInt8(ascii: "\n")]
  }

  /// Control characters could forge lines or steer a terminal.
  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
  }

  private static var now: String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000).description
  }
}
