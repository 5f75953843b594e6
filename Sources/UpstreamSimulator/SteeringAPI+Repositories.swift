import HTTPServer
import JSONText

/// Commands about repositories.
extension SteeringAPI {
  /// `nil` when the command is none of these.
  func repositories(_ name: String, _ body: [UInt8]) throws -> Response? {
    switch name {
    case "repos":
      let (user, repository) = try JSONObjectReader.read(body) { reader in
        (reader.required("user", as: String.self) ?? "", reader.required("name", as: String.self) ?? "")
      }
      let id = try engine.withPerson(user) { try $0.repositories.make(repository, owner: $1, at: $0.clock.now) }
      return Self.object { $0.member("id", Int(id)) }
    case "repo": return try change(body)
    default: return nil
    }
  }

  private func change(_ body: [UInt8]) throws -> Response {
    let (user, name, newName, newOwner, stars, push, state) = try JSONObjectReader.read(body) { reader in
      let state = reader.optional("state", as: String.self)
      if let state, Simulator.RepositoryState(rawValue: state) == nil {
        reader.refuse(
          "state", "must be one of \(Simulator.RepositoryState.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return (
        reader.required("user", as: String.self) ?? "", reader.required("name", as: String.self) ?? "",
        reader.optional("new_name", as: String.self), reader.optional("new_owner", as: String.self),
        reader.optional("stars", as: Int64.self), reader.optional("push", as: Bool.self), state
      )
    }
    let owner = try newOwner.map { try engine.withPerson($0) { $1 } }
    try engine.withRepository(user, name) { world, id in
      let now = world.clock.now
      world.repositories.edit(id) { repository in
        if let stars { repository.stars = stars }
        if push == true {
          repository.commits += 1
          repository.pushedAt = max(now, repository.pushedAt + 1)
          repository.updatedAt = repository.pushedAt
        }
        if let state = state.flatMap(Simulator.RepositoryState.init) { repository.state = Repository.State(state) }
      }
      guard newName != nil || owner != nil, let present = world.repositories[id] else { return }
      try world.repositories.move(id, to: owner ?? present.owner, name: newName ?? present.name)
    }
    return Response(.noContent)
  }
}
