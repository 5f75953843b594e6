import EventLoop
import Glibc
import Synchronization
import TestSupport

/// A built program as a child process: what it is given, what it says, how it ends.
///
/// Standard output and standard error go to files of the site, so that neither a full pipe nor a dead test stops it.
final class Program: Sendable {
  /// How a process ended.
  enum End: Equatable, Sendable {
    case exit(Int32)
    case signal(Int32)
  }

  /// The process's number; not given to anybody else before `end` has seen it.
  let process: pid_t
  private let outputFile: String
  private let errorFile: String
  private let reaped = Mutex<End?>(nil)

  /// Starts a program with this environment and nothing else.
  ///
  /// - Parameter files: path and beginning of a name for the two files.
  init(_ path: String, _ arguments: [String], environment: [String: String], files: String) throws {
    outputFile = files + ".out"
    errorFile = files + ".err"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputFile, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, errorFile, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    // Neither the mask nor ignored signals of the test process are passed on.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var set = sigset_t()
    sigemptyset(&set)
    posix_spawnattr_setsigmask(&attributes, &set)
    sigfillset(&set)
    posix_spawnattr_setsigdefault(&attributes, &set)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let words = ([path] + arguments).map { strdup($0) }
    let settings = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + settings { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, path, &actions, &attributes, words + [nil], settings + [nil])
    if code != 0 { throw SystemError("posix_spawn \(path)", code: code) }
    process = child
  }

  /// Everything said on standard output so far.
  var output: String { Program.text(of: outputFile) }

  /// Everything said on standard error so far: the log.
  var log: String { Program.text(of: errorFile) }

  /// Sends a signal, unless the process has ended.
  func signal(_ number: Int32) {
    reaped.withLock { end in
      if end == nil { kill(process, number) }
    }
  }

  /// How it ended; `nil` while it runs.
  var end: End? {
    reaped.withLock { end in
      if end != nil { return end }
      var status: Int32 = 0
      guard waitpid(process, &status, WNOHANG) == process else { return nil }
      let signal = status & 0x7F
      end = signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
      return end
    }
  }

  /// Waits for the end.
  ///
  /// - Throws: `NeverHappened`.
  func waitForEnd(within limit: Duration = .seconds(120)) async throws -> End {
    try await eventually(within: limit) { end != nil }
    return end ?? .exit(-1)
  }

  /// The rest of the line of standard output that begins with `words`.
  func announced(_ words: String) -> String? {
    let text = output
    // A line counts when it is whole.
    guard let last = text.lastIndex(of: "\n") else { return nil }
    return text[..<last].split(separator: "\n").first { $0.hasPrefix(words) }.map { String($0.dropFirst(words.count)) }
  }

  /// A number of `/proc/PID/status`, such as `VmHWM`, in KiB.
  func memory(_ name: String) -> Int? {
    Program.text(of: "/proc/\(process)/status").split(separator: "\n").first { $0.hasPrefix(name + ":") }
      .flatMap { $0.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first }.flatMap { Int($0) }
  }

  /// What everybody on the machine can see of it: its command line.
  var commandLine: String { Program.text(of: "/proc/\(process)/cmdline") }

  static func text(of path: String) -> String {
    guard let file = fopen(path, "re") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}
