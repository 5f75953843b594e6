import HTTP
import Magpie

/// What can be wrong with favorites and collections.
enum FavoriteProblem {
  static let missing = APIError(.notFound, "favorites/not-found", "This is not among the favorites.")

  static let nothingToRestore = APIError(
    .notFound, "favorites/nothing-to-restore",
    "This is not among the favorites, and nothing is left of it to bring back.")

  static let unknownKind = APIError(
    .notFound, "favorites/unknown-kind", "Kinds are \(Favorite.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")

  static let invalidID = APIError(.notFound, "favorites/invalid-id")

  static let noCollection = APIError(.notFound, "collections/not-found", "The account has no such collection.")

  /// The account is full.
  static let full = APIError(
    .unprocessableContent, "favorites/limit-reached",
    "An account has \(Favorites.maxCount) favorites and \(Collections.maxCount) collections at most.")

  static let noSuchCollection = at("collections", "must be collections of the account")

  static func noNeighbor(_ name: String) -> APIError { at(name, "must be another of the account's favorites") }

  /// A member whose fault only the database could find.
  private static func at(_ name: String, _ detail: String) -> APIError {
    var problem = Problem(
      .unprocessableContent, code: "request/invalid-body", detail: "The body is not what this request takes.")
    problem.errors = [Problem.Detail(pointer: "/\(name)", detail: detail)]
    return APIError(problem)
  }
}
