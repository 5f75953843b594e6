import CLinux
import EventLoop
import Glibc

/// Programs of PostgreSQL, started as the user who is to run them.
enum ChildProcess {
  /// A user that programs run as; `nil` stands for the present one.
  struct User: Equatable, Sendable {
    let name: String
    let id: uid_t
    let group: gid_t
  }

  /// Starts a program. Its standard input is empty; its output goes to `output`.
  ///
  /// - Parameter deathSignal: sent to it when the calling *thread* ends; 0 for none.
  /// - Throws: `SystemError`, also when the program cannot be executed.
  static func start(
    _ path: String, _ arguments: [String], user: User?, output: Int32, deathSignal: Int32 = 0
  ) throws(SystemError) -> pid_t {
    let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if input < 0 { throw SystemError("open") }
    defer { System.close(input) }
    let argumentStrings = ([path] + arguments).map { strdup($0) as UnsafeMutablePointer<CChar>? }
    // Messages in English, files with no surprise from the caller's environment (PGDATA, PGHOST, LD_…).
    let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/"]
    let environmentStrings = environment.map { strdup($0) as UnsafeMutablePointer<CChar>? }
    defer { for pointer in argumentStrings + environmentStrings { free(pointer) } }
    let child = (argumentStrings + [nil]).withUnsafeBufferPointer { arguments in
      (environmentStrings + [nil]).withUnsafeBufferPointer { environment in
        path.withCString { path in
          var options = clinux_spawn_options()
          options.path = path
          options.arguments = arguments.baseAddress
          options.environment = environment.baseAddress
          options.input = input
          options.output = output
          options.changes_user = user == nil ? 0 : 1
          options.user = user?.id ?? 0
          options.group = user?.group ?? 0
          options.death_signal = deathSignal
          return clinux_spawn(&options)
        }
      }
    }
    if child < 0 { throw SystemError("cannot start \(path)") }
    return child
  }

  /// Waits for a child and gives its exit status: 0 for success, 128 + the signal when one ended it.
  static func wait(_ child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {
      if errno != EINTR { return -1 }
    }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// Runs a program to its end and collects what it says, at most 64 KiB. When the calling thread ends before, so does the
  /// program.
  static func run(
    _ path: String, _ arguments: [String], user: User? = nil
  ) throws(SystemError) -> (status: Int32, output: String) {
    var ends: (Int32, Int32) = (0, 0)
    let made = withUnsafeMutablePointer(to: &ends) { pointer in
      pointer.withMemoryRebound(to: Int32.self, capacity: 2) { pipe2($0, O_CLOEXEC) }
    }
    if made < 0 { throw SystemError("pipe2") }
    let child: pid_t
    do throws(SystemError) {
      child = try start(path, arguments, user: user, output: ends.1, deathSignal: SIGINT)
    } catch {
      System.close(ends.0)
      System.close(ends.1)
      throw error
    }
    System.close(ends.1)
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(ends.0, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      // Reads on after the limit, so that the program is not stopped by a full pipe.
      if output.count < 65_536 { output += buffer[..<count] }
    }
    System.close(ends.0)
    return (wait(child), String(decoding: output, as: UTF8.self))
  }
}
