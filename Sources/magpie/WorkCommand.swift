import CLinux
import EventLoop

/// `magpie work`: a worker without the API.
struct WorkCommand {
  let settings: Settings

  func run() async throws {
    let signals = try Signals()
    let process = try await ServerProcess(settings)
    do {
      let worker = try await WorkerPart(process)
      signals.hasStarted()
      let group = try EventLoopGroup(count: 1, name: "admin")
      let admin = try await process.startAdminServer(
        on: group, isReady: { await worker.isReady }, metrics: { worker.metrics })
      CommandLineInterface.write(
        """
        Magpie \(Version.current) works
        Health and metrics are at http://\(admin.address)

        """, to: clinux_stdout())
      process.log.write(.info, "working", [("admin", .text(admin.address.description))])
      await process.runUntilTold(signals, reload: { try worker.reload() }) {
        await worker.drain(ServerProcess.drainTime)
        await admin.drain(timeout: .seconds(1))
        group.stop()
      }
    } catch {
      await process.abandon()
      throw error
    }
  }
}
