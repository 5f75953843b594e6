import CLinux
import Glibc

/// A fixed number of loops, each on its own thread.
///
/// `stop` must be called, and after the tasks that use the loops have ended: references to executors are unowned.
public final class EventLoopGroup: Sendable {
  /// The loops, at least one.
  public let loops: [EventLoop]
  private let threads: [pthread_t]

  /// Starts `count` threads.
  ///
  /// - Throws: `SystemError` when descriptors or threads run out.
  public init(count: Int, name: String = "loop") throws(SystemError) {
    var loops: [EventLoop] = []
    for index in 0..<max(1, count) { loops.append(try EventLoop(name: "\(name)-\(index)")) }
    var threads: [pthread_t] = []
    for loop in loops {
      do throws(SystemError) {
        threads.append(try EventLoopGroup.start(loop))
      } catch {
        EventLoopGroup.join(loops, threads)
        throw error
      }
    }
    self.loops = loops
    self.threads = threads
  }

  /// Ends all loops and waits for their threads. Not to be called from one of them.
  public func stop() { EventLoopGroup.join(loops, threads) }

  private static func join(_ loops: [EventLoop], _ threads: [pthread_t]) {
    for loop in loops { loop.stop() }
    for thread in threads { pthread_join(thread, nil) }
  }

  private static func start(_ loop: EventLoop) throws(SystemError) -> pthread_t {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(loop).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let loop = Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
        // For `top -H` and profilers.
        clinux_name_thread(loop.name)
        loop.run()
        return nil
      }, context)
    if code != 0 {
      Unmanaged<EventLoop>.fromOpaque(context).release()
      throw SystemError("pthread_create", code: code)
    }
    return thread
  }
}
