import EventLoop
import Glibc
import Postgres

/// Why a start failed: one line, exit 1.
struct StartFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// A failure with its circumstance, such as `cannot listen on 127.0.0.1:8080: Address already in use`.
  init(_ circumstance: String, _ error: SystemError) {
    description = "\(circumstance): \(String(cString: strerror(error.code)))"
  }

  /// The words for any error.
  init(_ error: any Error) {
    let words = StartFailure.words(for: error)
    // libpq gives advice on further lines.
    description = words.split(whereSeparator: \.isNewline).first.map(String.init) ?? words
  }

  private static func words(for error: any Error) -> String {
    switch error {
    case let failure as StartFailure: return failure.description
    case let failure as PrivateCluster.Failure: return failure.description
    case let failure as Migrator.Failure: return "cannot migrate: \(failure)"
    case let error as PostgresError:
      switch error.kind {
      case .unavailable, .connectionLost, .timeout: return "the database cannot be reached: \(error.message)"
      default: return "the database refuses: \(error.message)"
      }
    default: return "\(error)"
    }
  }
}

extension Listener {
  /// Listens at the address of a setting.
  ///
  /// - Throws: a line that names both.
  convenience init(_ address: SocketAddress, of setting: StaticString) throws(StartFailure) {
    do throws(SystemError) {
      try self.init(address)
    } catch {
      throw StartFailure("cannot listen on \(address) (\(setting))", error)
    }
  }
}
