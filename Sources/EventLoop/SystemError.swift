import Glibc

/// A system call that failed.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The call's name, such as `bind`.
  public let call: String
  /// The value of `errno` right after the call.
  public let code: Int32

  /// Takes the present value of `errno` unless told otherwise.
  public init(_ call: String, code: Int32 = errno) {
    self.call = call
    self.code = code
  }

  /// The call and the system's text for the code, such as `bind: Address already in use`.
  public var description: String { "\(call): \(String(cString: strerror(code)))" }
}
