import Glibc

/// The loop whose thread this is, kept in thread-specific data.
///
/// Not `pthread_self()`: glibc declares it constant, so the optimizer may keep its value across an `await` that changes
/// threads. `pthread_getspecific` is not constant, and these functions are never inlined into async code.
enum CurrentLoop {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  @inline(never)
  static func pointer() -> UnsafeMutableRawPointer? { pthread_getspecific(key) }

  @inline(never)
  static func set(_ pointer: UnsafeMutableRawPointer?) { pthread_setspecific(key, pointer) }
}
