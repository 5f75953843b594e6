import Glibc

/// A value that one thread at a time may touch, behind a mutex of the C library.
///
/// Not `Synchronization.Mutex`: that one waits by futex calls which the thread sanitizer cannot see, so that it reports a
/// race wherever a value crosses threads under it. These calls it knows. Uncontended they cost as little.
///
/// `@unchecked Sendable`: the value is only reached with the mutex held, and both live at fixed addresses until `deinit`.
public struct Lock<Value>: ~Copyable, @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  /// Takes the value over.
  public init(_ initial: Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    value = .allocate(capacity: 1)
    value.initialize(to: initial)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` with the value while nobody else can. Must not be called from within itself.
  @inline(__always)
  public func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
