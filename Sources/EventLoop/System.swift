import CLinux
import Glibc

/// Every system call this package makes on descriptors, wrapped once: restarts after `EINTR`, throws `SystemError`, and
/// answers `nil` where the kernel says "would block".
public enum System {
  @inline(__always)
  static func retry<T: SignedInteger>(_ call: StaticString, _ body: () -> T) throws(SystemError) -> T {
    while true {
      let result = body()
      if result >= 0 { return result }
      if errno != EINTR { throw SystemError("\(call)") }
    }
  }

  /// Reads what is there. `nil`: nothing yet; 0: the peer has finished sending.
  @inline(__always)
  public static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError)
    -> Int?
  {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count >= 0 { return count }
      let code = errno
      if code == EAGAIN { return nil }
      if code != EINTR { throw SystemError("recv", code: code) }
    }
  }

  /// Sends what the kernel takes, never raising `SIGPIPE`. `nil`: it takes nothing now.
  @inline(__always)
  public static func send(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) throws(SystemError) -> Int? {
    while true {
      let count = Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
      if count >= 0 { return count }
      let code = errno
      if code == EAGAIN { return nil }
      if code != EINTR { throw SystemError("send", code: code) }
    }
  }

  /// Sends two buffers in one call, in order. `nil`: the kernel takes nothing now; else the bytes taken of both.
  public static func send(
    _ descriptor: Int32, _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int? {
    var parts = (
      iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count),
      iovec(iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress), iov_len: body.count)
    )
    return try withUnsafeMutablePointer(to: &parts) { pointer throws(SystemError) -> Int? in
      try pointer.withMemoryRebound(to: iovec.self, capacity: 2) { vector throws(SystemError) -> Int? in
        var message = msghdr()
        message.msg_iov = vector
        message.msg_iovlen = 2
        while true {
          let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
          if count >= 0 { return count }
          let code = errno
          if code == EAGAIN { return nil }
          if code != EINTR { throw SystemError("sendmsg", code: code) }
        }
      }
    }
  }

  /// Pieces that one call takes: Linux has a limit of 1,024 (`IOV_MAX`), of which one is the head.
  public static let maxPieces = 1_023

  /// Sends a buffer and then pieces in one call, in order. `nil`: the kernel takes nothing now; else the bytes taken of all.
  public static func send(
    _ descriptor: Int32, _ head: UnsafeRawBufferPointer, _ pieces: [[UInt8]]
  ) throws(SystemError) -> Int? {
    precondition(pieces.count <= maxPieces, "more pieces than one call takes")
    var vector: [iovec] = []
    vector.reserveCapacity(pieces.count + 1)
    vector.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count))
    return try withPieces(pieces[...], &vector) { vector -> Result<Int?, SystemError> in
      vector.withUnsafeMutableBufferPointer { vector in
        var message = msghdr()
        message.msg_iov = vector.baseAddress
        message.msg_iovlen = vector.count
        while true {
          let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
          if count >= 0 { return .success(count) }
          let code = errno
          if code == EAGAIN { return .success(nil) }
          if code != EINTR { return .failure(SystemError("sendmsg", code: code)) }
        }
      }
    }.get()
  }

  /// Adds the addresses of all pieces, each of them lent until `body` has returned.
  private static func withPieces<R>(
    _ pieces: ArraySlice<[UInt8]>, _ vector: inout [iovec], _ body: (inout [iovec]) -> R
  ) -> R {
    guard let first = pieces.first else { return body(&vector) }
    return first.withUnsafeBytes { bytes in
      vector.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
      return withPieces(pieces.dropFirst(), &vector, body)
    }
  }

  /// Accepts one connection, non-blocking and closed on exec. `nil`: none is waiting.
  public static func accept(_ listener: Int32) throws(SystemError) -> Int32? {
    while true {
      let descriptor = accept4(
        listener, nil, nil, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
      if descriptor >= 0 { return descriptor }
      let code = errno
      switch code {
      case EAGAIN: return nil
      case EINTR, ECONNABORTED, EPROTO: continue  // a connection that died in the queue is nobody's fault
      default: throw SystemError("accept4", code: code)
      }
    }
  }

  /// A descriptor that is good for nothing but being given up when no other is left. -1 when none is left now.
  public static func openSpare() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

  /// Closes a descriptor. Linux releases the number even when `close` is interrupted, so it is never called twice.
  public static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

  /// Tells the peer that nothing more will be sent.
  public static func shutdownWrite(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// Sends small writes at once instead of waiting for more (`TCP_NODELAY`). Without effect on other sockets.
  public static func setNoDelay(_ descriptor: Int32) {
    var one: Int32 = 1
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
  }

  /// Nanoseconds of the monotonic clock.
  public static func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
  }

  /// A connected pair of non-blocking stream sockets, for tests without a network.
  public static func socketPair() throws(SystemError) -> (Int32, Int32) {
    var pair: (Int32, Int32) = (0, 0)
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let result = withUnsafeMutablePointer(to: &pair) {
      $0.withMemoryRebound(to: Int32.self, capacity: 2) { socketpair(AF_UNIX, type, 0, $0) }
    }
    if result < 0 { throw SystemError("socketpair") }
    return pair
  }

  /// Lets writes to closed sockets fail with an error instead of ending the process. Called once, at start.
  public static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

  /// Gives memory that was freed back to the system, which the allocator otherwise keeps for later.
  public static func releaseFreeMemory() { malloc_trim(0) }

  /// Lets other threads of this process and machine go before this one a little, so that it still gets on where all are busy; as far as the kernel's scheduler is fair: on Linux the
  /// priority is a thread's own.
  public static func lowerPriorityOfThisThread() {
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 3)
  }

  /// Raises the limit of open descriptors as far as the process may, and answers the new limit.
  @discardableResult
  public static func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      _ = setrlimit(resource, &limit)
    }
    return Int(clamping: limit.rlim_cur)
  }
}
