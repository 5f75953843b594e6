extension Database {
  /// Where the database is and how much of it is used.
  public struct Configuration: Sendable {
    /// libpq connection string or URI; several hosts are tried in turn.
    public var connectionString: String
    /// The role to become with SET ROLE on every connection.
    public var role: String?
    /// Shown in `pg_stat_activity`, unless the connection string names another.
    public var applicationName: String? = "magpie"
    /// Connections for single statements that share them, on each loop.
    public var pipelinesPerLoop = 2
    /// Statements under way on one pipelined connection. One more is `overloaded`.
    public var maximumInFlight = 512
    /// Connections for transactions, split evenly over the loops, at least one each.
    public var poolSize = 8
    /// Callers waiting for a pooled connection, on each loop. One more is `overloaded`.
    public var maximumWaiters = 256
    /// How long a caller waits for a pooled connection.
    public var poolWaitTimeout = Duration.seconds(5)
    /// The server's limit for a pipelined statement. Callers wait longer by `grace`. Zero: none, and callers wait 1 h.
    public var statementTimeout = Duration.seconds(3)
    /// The server's limit for a statement on a pooled connection. Callers wait longer by `grace`.
    public var pooledStatementTimeout = Duration.seconds(30)
    /// By how much callers wait longer than the server's limit. A server that stays silent for as long again after that is
    /// taken for dead.
    public var grace = Duration.seconds(2)
    /// How often a listening connection is tried.
    public var pingInterval = Duration.seconds(10)
    /// The server's limit for waiting for a lock.
    public var lockTimeout = Duration.seconds(2)
    /// The server ends a transaction that waits this long for its next statement.
    public var idleInTransactionTimeout = Duration.seconds(10)
    /// For one attempt to connect. `connect_timeout` in the connection string goes before it.
    public var connectTimeout = Duration.seconds(5)
    /// How long `start` waits for the first connections. With several hosts at least as long as one attempt at each may take.
    public var startTimeout = Duration.seconds(10)

    /// All else has its default.
    public init(connectionString: String, role: String? = nil) {
      self.connectionString = connectionString
      self.role = role
    }

    var pipelineRecipe: PipelinedConnection.Recipe {
      get throws(PostgresError) { try recipe(statementTimeout, isShared: true) }
    }

    var poolRecipe: PipelinedConnection.Recipe {
      get throws(PostgresError) { try recipe(pooledStatementTimeout, isShared: false) }
    }

    /// How long `start` waits, so that the last of several hosts is tried though all before it swallow packets.
    func startLimit(_ recipe: PipelinedConnection.Recipe) -> Duration {
      let hosts = recipe.parameters.hostCount
      return hosts > 1 ? max(startTimeout, recipe.connectTimeout * hosts) : startTimeout
    }

    private func recipe(_ timeout: Duration, isShared: Bool) throws(PostgresError) -> PipelinedConnection.Recipe {
      let parameters = try ConnectionParameters(connectionString, applicationName: applicationName)
      let wait = timeout == .zero ? Duration.seconds(3600) : timeout + grace
      return PipelinedConnection.Recipe(
        parameters: parameters,
        setup: SessionSetup(
          role: role, statementTimeout: timeout, lockTimeout: lockTimeout,
          idleInTransactionTimeout: idleInTransactionTimeout),
        connectTimeout: parameters.connectTimeout ?? connectTimeout,
        limits: Session.Limits(
          inFlight: maximumInFlight, answerTimeout: wait, silenceTimeout: wait + grace, isShared: isShared))
    }
  }
}
