extension OpenAPI {
  private static let people = [("users/{login}", "", "login"), ("user/{id}", "ByID", "userID")]

  /// What happened to lists, and how they stand to each other.
  static let changeOperations = people.flatMap { place, suffix, parameter in
    [("followers", "Follower", "follows"), ("following", "Following", "is followed by")].flatMap { part, name, verb in
      [
        Operation(
          method: .get, path: "/github/\(place)/\(part)/changes", id: "list\(name)Changes\(suffix)", tag: "github",
          summary: "Who \(verb) somebody since, and who no longer, newest first: told between complete walks only.",
          parameters: [parameter, "changesSince", "limit", "cursor"] + mirrorParameters,
          answers: [.init(status: 200, description: "The page.", schema: "FollowerChanges", headers: mirrored)]
            + mirrorAnswers,
          refusals: [(400, "InvalidCursor")] + mirrorRefusals),
        Operation(
          method: .get, path: "/github/\(place)/\(part)/history", id: "get\(name)History\(suffix)", tag: "github",
          summary: "How many came and went, day by day.", parameters: [parameter, "from", "to"] + mirrorParameters,
          answers: [.init(status: 200, description: "The days.", schema: "FollowerHistory", headers: mirrored)]
            + mirrorAnswers,
          refusals: mirrorRefusals),
      ]
    } + [
      Operation(
        method: .get, path: "/github/\(place)/relations", id: "listRelations\(suffix)", tag: "github",
        summary: "What comes of laying somebody's two lists side by side, once both have been seen whole.",
        parameters: [parameter, "relationSet", "page", "perPage", "walk", "cursor", "listText", "listSort"]
          + mirrorParameters,
        answers: [.init(status: 200, description: "The page.", schema: "Relations", headers: mirrored + ["Link"])]
          + mirrorAnswers,
        refusals: [(400, "InvalidCursor")] + mirrorRefusals)
    ]
  }
}
