import CLinux
import EventLoop
import Glibc
import MagpieAPI

/// Parses the command line, calls one subcommand, and ends the process.
enum CommandLineInterface {
  /// The command line or a setting is wrong (`EX_USAGE`).
  static let usageStatus: Int32 = 64

  /// Runs a command on other threads while this one, the first, does nothing.
  ///
  /// An async `main` would leave the first thread to Dispatch, which takes signals there even if they were blocked.
  static func main(_ arguments: [String]) -> Never {
    // These two go on until they are told to end.
    if ["serve", "work"].contains(arguments.first) { Signals.block() }
    Task.detached { await run(arguments) }
    while true { pause() }
  }

  private static func run(_ arguments: [String]) async -> Never {
    let options = Array(arguments.dropFirst())
    do {
      switch arguments.first {
      case "serve":
        try refuseOptions(options, except: ["--no-worker"])
        try await ServeCommand(settings: try Settings(), hasWorker: !options.contains("--no-worker")).run()
      case "work":
        try refuseOptions(options)
        try await WorkCommand(settings: try Settings()).run()
      case "migrate":
        try refuseOptions(options, except: ["--check"])
        try await MigrateCommand(settings: try Settings(), isCheck: options.contains("--check")).run()
      case "openapi":
        try refuseOptions(options)
        write(String(decoding: OpenAPI.document(version: Version.current), as: UTF8.self) + "\n", to: clinux_stdout())
      case "version", "--version":
        try refuseOptions(options)
        write("magpie \(Version.current)\n", to: clinux_stdout())
      case "help", "--help", "-h":
        write(help, to: clinux_stdout())
      case let other:
        throw UsageError(other.map { "unknown command: \($0); see magpie help" } ?? "no command; see magpie help")
      }
    } catch let error as UsageError {
      write("magpie: \(error.description)\n", to: clinux_stderr())
      exit(usageStatus)
    } catch {
      write("magpie: \(StartFailure(error).description)\n", to: clinux_stderr())
      exit(1)
    }
    exit(0)
  }

  private static func refuseOptions(_ options: [String], except known: Set<String> = []) throws(UsageError) {
    if let unknown = options.first(where: { !known.contains($0) }) {
      throw UsageError("unknown option: \(unknown); see magpie help")
    }
  }

  static func write(_ text: String, to file: UnsafeMutablePointer<FILE>) {
    fputs(text, file)
    fflush(file)
  }

  private static let help = """
    usage: magpie COMMAND

      serve [--no-worker]   the API, and unless told otherwise a worker
      work                  a worker alone
      migrate [--check]     bring the database's schema up to date, or only tell whether it is
      openapi               print the API's OpenAPI document
      version               print the version
      help                  print this

    Settings are environment variables; README.md lists them.

    """
}

/// A command line or a setting that cannot be right: one line, exit 64.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The version of this build.
enum Version {
  static let current = "0.1.0"
}
