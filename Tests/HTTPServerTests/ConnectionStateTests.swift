import Testing

@testable import HTTPServer

@Suite struct ConnectionStateTests {
  private let second: UInt64 = 1_000_000_000
  private let deadlines = Deadlines()

  @Test func connectionWithoutARequestClosesAfterKeepAlive() {
    let state = ConnectionState(now: 5 * second, deadlines)
    #expect(state.expiry(now: 35 * second - 1) == nil)
    #expect(state.expiry(now: 35 * second) == .close)
  }

  @Test func headDeadlineRunsFromItsFirstByte() {
    var state = ConnectionState(now: 0, deadlines)
    state.headBegan(now: 3 * second, deadlines)
    state.headBegan(now: 12 * second, deadlines)  // another byte changes nothing
    #expect(state.expiry(now: 13 * second - 1) == nil)
    #expect(state.expiry(now: 13 * second) == .refuseHead)
  }

  @Test func handlersHaveNoDeadline() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    #expect(state.deadline == .max)
    #expect(state.expiry(now: 1_000_000 * second) == nil)
  }

  @Test func bodyFailsWhenNothingComes() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    state.bodyAwaited(now: second, deadlines)
    #expect(state.expiry(now: 11 * second - 1) == nil)
    #expect(state.expiry(now: 11 * second) == .failBody)
    state.bodyReceived(100_000, now: 10 * second, deadlines)
    #expect(state.expiry(now: 20 * second - 1) == nil)
    #expect(state.expiry(now: 20 * second) == .failBody)
    state.bodyEnded()
    #expect(state.deadline == .max)
  }

  @Test func bodyFailsWhenItDripsTooSlowly() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    state.bodyAwaited(now: second, deadlines)
    // A byte a second keeps it from being idle, but earns only 1/256 of each second.
    for tick in 2...11 as ClosedRange<UInt64> {
      #expect(state.expiry(now: tick * second - 1) == nil)
      state.bodyReceived(1, now: tick * second, deadlines)
    }
    #expect(state.expiry(now: 12 * second) == .failBody)
    // At the rate it may go on.
    state.bodyReceived(2560, now: 11 * second, deadlines)
    #expect(state.expiry(now: 12 * second) == nil)
  }

  @Test func answersThatNobodyTakesEndTheConnection() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    state.answerWaits(now: 0, deadlines)
    state.writeBlocked(now: 9 * second, deadlines)
    #expect(state.expiry(now: 19 * second - 1) == nil)
    #expect(state.expiry(now: 19 * second) == .close)
  }

  @Test func streamsThatNobodyTakesEndTheConnectionAlsoAfterABody() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    state.bodyAwaited(now: second, deadlines)
    state.bodyEnded()
    state.writeBlocked(now: 2 * second, deadlines)
    #expect(state.expiry(now: 12 * second - 1) == nil)
    #expect(state.expiry(now: 12 * second) == .close)
    state.writeUnblocked()
    #expect(state.expiry(now: 1000 * second) == nil)
  }

  @Test func lingeringAndDrainingAreBounded() {
    var state = ConnectionState(now: 0, deadlines)
    state.lingerBegan(now: 0, deadlines)
    #expect(state.expiry(now: second) == .close)
    state.drainBegan(now: 0, deadlines)
    #expect(state.expiry(now: 10 * second) == .close)
    state.closed()
    #expect(state.expiry(now: 1000 * second) == nil)
  }

  @Test func whatFollowsAnAnswer() {
    var state = ConnectionState(now: 0, deadlines)
    state.requestBegan()
    func next(_ change: (inout ConnectionState.Answer) -> Void) -> ConnectionState.Next {
      var answer = ConnectionState.Answer(requestKeepsAlive: true)
      change(&answer)
      return state.next(after: answer, maxRequests: 2)
    }
    #expect(next { _ in } == .request)
    #expect(next { $0.requestKeepsAlive = false } == .close)
    #expect(next { $0.responseCloses = true } == .close)
    #expect(next { $0.serverDrains = true } == .close)
    #expect(next { $0.bodyFailed = true } == .close)
    #expect(next { ($0.bodyIsComplete, $0.bodyRemaining) = (false, 65_536) } == .drain)
    #expect(next { ($0.bodyIsComplete, $0.bodyRemaining) = (false, 65_537) } == .close)
    #expect(next { $0.bodyIsComplete = false } == .drain)
    #expect(next { ($0.bodyIsComplete, $0.owesContinue) = (false, true) } == .close)
    state.requestBegan()
    #expect(next { _ in } == .close)
  }

  @Test func sweepFollowsTheShortestDeadline() {
    var deadlines = Deadlines()
    #expect(deadlines.sweep == 250_000_000)
    deadlines.head = 100_000_000
    #expect(deadlines.sweep == 25_000_000)
    deadlines.head = 1
    #expect(deadlines.sweep == 5_000_000)
  }
}
