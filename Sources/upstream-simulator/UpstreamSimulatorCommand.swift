import EventLoop
import Glibc
import UpstreamSimulator

/// Parses the command line, serves until SIGINT or SIGTERM, and ends in good order; a second signal ends at once.
///
/// `main` is not async on purpose: an async one leaves the process's first thread to Dispatch, which takes signals there again.
@main enum UpstreamSimulatorCommand {
  static func main() {
    let options = readOptions()
    // Before any thread is made, so that all of them inherit it and only `sigwait` gets these signals.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    System.ignoreBrokenPipes()
    System.raiseDescriptorLimit()

    let group: EventLoopGroup
    do throws(SystemError) {
      let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
      group = try EventLoopGroup(count: min(4, cores), name: "simulator")
    } catch {
      fail("\(error)", code: 1)
    }
    let simulator = Task(executorPreference: group.loops[0]) {
      do {
        let simulator = try await Simulator.start(options.configuration, on: group, at: options.listen)
        print("listening on \(simulator.baseURL)")
        fflush(nil)
        return simulator
      } catch {
        fail("\(error)", code: 1)
      }
    }
    var signal: Int32 = 0
    sigwait(&signals, &signal)
    Task(executorPreference: group.loops[0]) {
      await simulator.value.stop()
      exit(0)
    }
    sigwait(&signals, &signal)
    exit(1)
  }

  /// Ends the process for `--help` and for what cannot be used.
  private static func readOptions() -> Simulator.Options {
    var options: Simulator.Options
    do {
      options = try Simulator.Options(Array(CommandLine.arguments.dropFirst()))
    } catch {
      fail("\(error); see --help", code: 64)
    }
    if options.wantsHelp {
      print(Simulator.Options.help, terminator: "")
      exit(0)
    }
    if let path = options.replayFile {
      guard let document = readFile(path) else { fail("\(path) cannot be read", code: 1) }
      do {
        options.configuration.replay = try Replay(document, ignoresPaging: options.replayIgnoresPaging)
      } catch {
        fail("\(path): \(error)", code: 1)
      }
    }
    return options
  }

  /// `nil` when it cannot be read. Of a file that is too large, enough is read for that to be seen.
  private static func readFile(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while bytes.count <= Replay.maxBytes {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { return ferror(file) == 0 ? bytes : nil }
      bytes += buffer[..<count]
    }
    return bytes
  }

  private static func fail(_ line: String, code: Int32) -> Never {
    var line = "upstream-simulator: \(line)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(code)
  }
}
