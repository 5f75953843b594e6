extension Session {
  /// Bounds of one session.
  struct Limits: Sendable {
    /// Statements under way.
    var inFlight = 512
    /// Bytes of their parameters. One statement alone may have more.
    var bytesInFlight = 16 << 20
    /// How long a caller waits for an answer.
    var answerTimeout = Duration.seconds(5)
    /// How long the server may be silent while statements are under way. After that the connection is given up.
    var silenceTimeout = Duration.seconds(6)
    /// Statements are their own transactions and nothing is kept between them, so one that was refused before it ran (its
    /// preparation was outdated) may simply be sent again.
    var isShared = true
  }
}
