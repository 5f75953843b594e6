import CLinux
import Glibc

/// What a descriptor is ready for, or what one wants to hear of.
public struct Readiness: OptionSet, Sendable {
  /// The bits of `epoll_event.events`.
  public let rawValue: UInt32
  /// Takes epoll's bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Bytes, a connection or the end of the stream can be read.
  public static let read = Readiness(rawValue: EPOLLIN.rawValue)
  /// The kernel takes bytes again.
  public static let write = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has finished sending (`EPOLLRDHUP`).
  public static let peerClosed = Readiness(rawValue: EPOLLRDHUP.rawValue)
  /// The connection is broken; always reported, never asked for.
  public static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// How often a ready descriptor is reported.
public enum Trigger: Sendable {
  /// As long as it is ready. Right for libpq, which does not read until the socket is empty.
  case level
  /// Once a change. The handler must read or write until the kernel says "would block".
  case edge
  /// As `level`, but only some of the loops waiting on a shared listener wake (`EPOLLEXCLUSIVE`).
  case exclusive

  var bits: UInt32 {
    switch self {
    case .level: 0
    case .edge: clinux_epollet()
    case .exclusive: clinux_epollexclusive()
    }
  }
}

/// Whoever is told that a registered descriptor is ready. Called on the loop's thread only.
public protocol ReadinessHandler: AnyObject {
  /// `readiness` holds what happened since the last call; it may be out of date by the time it is looked at, so reading
  /// and writing must cope with "would block".
  func ready(_ readiness: Readiness)
}

/// A descriptor's place in a loop. Events that were already collected for a cancelled registration are dropped, even when
/// the kernel has given its number to a new descriptor.
public struct Registration: Equatable, Sendable {
  let slot: UInt32
  let generation: UInt32

  var tag: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
