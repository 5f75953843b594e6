import Magpie

extension OpenAPI {
  /// Refusals, all problem documents. The codes are those that the operation can end with.
  static let responses: KeyValuePairs<String, String> = [
    "Problem": problem("Any other failure, such as `server/internal`."),
    "Unauthorized": problem("`auth/missing` or `auth/invalid-token`.", ["WWW-Authenticate"]),
    "WrongPassword": problem("`auth/wrong-password`: unknown name or wrong password.", ["WWW-Authenticate"]),
    "InsufficientScope": problem("`auth/insufficient-scope`: the token may only read.", ["WWW-Authenticate"]),
    "SignUpClosed": problem("`accounts/signup-closed`: the operator makes the accounts."),
    "UsernameTaken": problem("`accounts/username-taken`."),
    "InvalidCode": problem("`accounts/invalid-code`: unknown, used or too old."),
    "InvalidJSON": problem("`request/invalid-json`, `request/invalid-condition`."),
    "InvalidCursor": problem("`request/invalid-cursor`: not one of this list."),
    "Invalid": problem(
      "`request/invalid-body`, `request/invalid-parameter`, `request/invalid-value`, of full accounts "
        + "`favorites/limit-reached` (\(Favorites.maxCount) favorites, \(Collections.maxCount) collections), of searches also `github/search-refused` "
        + "and `github/search-cap`; `errors` says where."),
    "TooLarge": problem("The body is longer than the request may have."),
    "NotFound": problem(
      "`github/user-not-found`, `github/repository-not-found`, `favorites/not-found`, `favorites/unknown-kind`, "
        + "`favorites/nothing-to-restore`, `collections/not-found`, `favorites/invalid-id`, `jobs/not-found`, `images/not-found`, `sessions/not-found`."
    ),
    "Moved": problem("`github/moved`: the account or repository has another name now.", ["Location"]),
    "Gone": problem("`github/gone`, `github/unavailable-for-legal-reasons`: GitHub's own word, while it is believed."),
    "VersionConflict": problem(
      "`favorites/version-conflict`, `collections/version-conflict`; `server` is the server's copy, or null.", ["ETag"]),
    "Unavailable": problem(
      "`server/busy`, `server/database-unavailable`; from the mirror also `upstream/offline`, `upstream/rate-limited`, "
        + "`upstream/unauthorized`, `upstream/refused`, `upstream/invalid-answer`.", ["Retry-After", "Magpie-Job"]),
    "NotStored": problem(
      "`mirror/not-ready`: the wait is over and nothing has come. `mirror/not-stored`: `only-if-cached`, and nothing is.",
      ["Retry-After", "Magpie-Job"]),
  ]

  static func problem(_ description: String, _ headers: [String] = []) -> String {
    let fields = headers.map { "\"\($0)\":{\"$ref\":\"#/components/headers/\($0)\"}" }.joined(separator: ",")
    return "{\"description\":\"\(description)\",\"headers\":{\(fields)},\"content\":{\"application/problem+json\":"
      + "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}}"
  }
}
