import Postgres

/// What a worker does for accounts now and then. It sees none of them: the functions tell it how many there were.
public enum AccountDuties {
  /// All of them.
  public static func all(_ database: Database) -> [Duty] {
    [
      Duty("sessions", every: .seconds(30)) { _ = try await database.query("SELECT magpie.sweep_sessions()") },
      Duty("attempts", every: .seconds(300)) { _ = try await database.query("SELECT magpie.sweep_attempts()") },
      Duty("answers", every: .seconds(600)) {
        while try await database.query("SELECT magpie.sweep_answers()")[0].decode(Int.self) == 5_000 {}
      },
      Duty("deleted-accounts", every: .seconds(3_600)) {
        // One at a time; each may have ten thousand favorites.
        while try await eraseOne(database) {}
      },
    ]
  }

  private static func eraseOne(_ database: Database) async throws -> Bool {
    try await database.pooled { connection in
      try await connection.query("SELECT magpie.erase_account()")[0].decode(Bool.self)
    }
  }
}
