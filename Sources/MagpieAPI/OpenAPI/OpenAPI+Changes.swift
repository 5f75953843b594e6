extension OpenAPI {
  /// What happened to lists.
  static let changeOperations = [("followers", "Follower", "follows"), ("following", "Following", "is followed by")]
    .flatMap { part, name, verb in
      [("users/{login}", "", "login"), ("user/{id}", "ByID", "userID")].flatMap { place, suffix, parameter in
        [
          Operation(
            method: .get, path: "/github/\(place)/\(part)/changes", id: "list\(name)Changes\(suffix)", tag: "github",
            summary: "Who \(verb) somebody since, and who no longer, newest first: told between complete walks only.",
            parameters: [parameter, "since", "limit", "cursor"] + mirrorParameters,
            answers: [.init(status: 200, description: "The page.", schema: "FollowerChanges", headers: mirrored)]
              + mirrorAnswers,
            refusals: [(400, "InvalidCursor")] + mirrorRefusals),
          Operation(
            method: .get, path: "/github/\(place)/\(part)/history", id: "get\(name)History\(suffix)", tag: "github",
            summary: "How many came and went, day by day.", parameters: [parameter, "from", "to"] + mirrorParameters,
            answers: [.init(status: 200, description: "The days.", schema: "FollowerHistory", headers: mirrored)]
              + mirrorAnswers, refusals: mirrorRefusals),
        ]
      }
    }
}
