import EventLoop
import Glibc

/// Takes connections from the shared listener onto one loop.
///
/// `@unchecked Sendable`: used on the loop's thread only.
final class Acceptor: ReadinessHandler, @unchecked Sendable {
  /// Connections taken in one turn, so that those already here are served in between.
  private static let perTurn = 64
  /// Connections beyond the limit that are told so at once; more are closed without a word.
  private static let maxRefused = 256

  private unowned let home: ServerLoop
  private var registration: Registration?
  private var pause: TimerID?
  /// Given up when no descriptor is left, to accept a connection and close it: else it would stay in the queue, and the loop
  /// would be told of it forever.
  private var spare: Int32 = -1

  init(_ home: ServerLoop) { self.home = home }

  deinit { if spare >= 0 { System.close(spare) } }

  func start() throws(SystemError) {
    if spare < 0 { spare = System.openSpare() }
    registration = try home.loop.register(
      home.shared.listener.descriptor, for: .read, trigger: .exclusive, self)
  }

  /// Takes what is already waiting and then nothing more; new clients are refused by the kernel.
  func stop() {
    if let registration {
      while acceptSome() == Acceptor.perTurn {}
      home.loop.cancel(registration)
    }
    if let pause { home.loop.cancel(pause) }
    registration = nil
    pause = nil
    home.shared.listener.stopListening()
  }

  func ready(_ readiness: Readiness) { _ = acceptSome() }

  private func acceptSome() -> Int {
    for taken in 0..<Acceptor.perTurn {
      do throws(SystemError) {
        guard let descriptor = try System.accept(home.shared.listener.descriptor) else { return taken }
        adopt(descriptor)
      } catch {
        if error.code == EMFILE || error.code == ENFILE, sacrificeSpare() { continue }
        if !home.isDraining { rest() }
        return taken
      }
    }
    return Acceptor.perTurn
  }

  private func sacrificeSpare() -> Bool {
    guard spare >= 0 else { return false }
    System.close(spare)
    defer { spare = System.openSpare() }
    guard let accepted = try? System.accept(home.shared.listener.descriptor) else { return false }
    System.close(accepted)
    return true
  }

  /// When the kernel is short of something, trying again at once would only burn time.
  private func rest() {
    if let registration { home.loop.cancel(registration) }
    registration = nil
    guard pause == nil else { return }
    pause = home.loop.schedule(after: .milliseconds(100)) { [self] in
      pause = nil
      do { try start() } catch { rest() }
    }
  }

  private func adopt(_ descriptor: Int32) {
    let counts = home.shared.counts
    let limit = home.shared.configuration.maxConnections
    let count = counts.connections.add(1, ordering: .relaxed).newValue
    System.setNoDelay(descriptor)
    guard count <= limit + Acceptor.maxRefused, let connection = try? Connection(descriptor, home) else {
      counts.connections.subtract(1, ordering: .relaxed)
      return System.close(descriptor)
    }
    if count > limit || !home.shared.peers.admit(connection) { connection.refuse(.overloaded) }
  }
}
