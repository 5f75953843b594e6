import HTTP
import HTTPClient
import JSONText
import Testing

/// What a client sees while PostgreSQL and the API are killed and started again under it. `.ci/stack-test` does the
/// killing, whenever this test says that it is ready.
@Suite(.enabled(if: Stack.present?.hasOperator == true, "needs the operator of `make stack-test`"))
struct OutageTests {
  /// What one request came to.
  private enum Sight: Equatable {
    case answered(Int)
    case unreachable
  }

  @Test func `acknowledged favorites survive, and no outage needs more than patience`() async throws {
    try await Visitor.with { visitor async throws in
      #expect(try await visitor.send(.put, Self.favorite(1), body: "{}").status == 201)
      #expect(try await visitor.favoriteIDs() == ["1"])

      announce("kill postgres")
      // The API stays: it answers all the time, and says so when it cannot know.
      try await watch(visitor, until: .answered(503), allowing: [.answered(200)])
      announce("start postgres")
      try await watch(visitor, until: .answered(200), allowing: [.answered(503)])
      #expect(try await visitor.favoriteIDs() == ["1"])
      #expect(try await visitor.send(.put, Self.favorite(2), body: "{}").status == 201)

      announce("kill api")
      try await watch(visitor, until: .unreachable, allowing: [.answered(200)])
      announce("start api")
      try await watch(visitor, until: .answered(200), allowing: [.unreachable, .answered(503)])
      #expect(Set(try await visitor.favoriteIDs()) == ["1", "2"])

      announce("done")
      for number in 1...2 {
        #expect(try await visitor.send(.delete, Self.favorite(number)).status == 204)
      }
    }
  }

  private static func favorite(_ number: Int) -> String { "/v1/favorites/github-user/\(number)" }

  /// Asks ten times a second until `wanted` comes; everything else must be expected. At most 90 seconds.
  private func watch(_ visitor: Visitor, until wanted: Sight, allowing others: [Sight]) async throws {
    for _ in 0..<900 {
      let sight = try await look(visitor)
      if sight == wanted { return }
      try #require(others.contains(sight), "while waiting for \(wanted)")
      try await visitor.loop.sleep(for: .milliseconds(100))
    }
    Issue.record("\(wanted) never came")
  }

  private func look(_ visitor: Visitor) async throws -> Sight {
    do {
      let answer = try await visitor.get("/v1/favorites")
      if answer.status == 503 {
        #expect(answer.fields["Retry-After"] != nil)
        #expect(answer.fields["Content-Type"]?.hasPrefix("application/problem+json") == true)
      }
      return .answered(answer.status)
    } catch is HTTPClient.Failure {
      return .unreachable
    }
  }
}
