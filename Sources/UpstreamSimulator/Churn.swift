import EventLoop

/// Lets lists change by themselves while somebody watches.
final class Churn: Sendable {
  private let task: Task<Void, Never>

  /// Changes one list after each pause, the users in turn.
  init(_ engine: Engine, users: [String], pause: Duration, on loop: EventLoop) {
    task = Task(executorPreference: loop) {
      var turn = 0
      while !users.isEmpty {
        do { try await loop.sleep(for: pause) } catch { return }
        // A user who was renamed is left alone.
        try? engine.churnOnce(users[turn % users.count])
        turn += 1
      }
    }
  }

  func stop() async {
    task.cancel()
    await task.value
  }
}

extension Engine {
  /// Somebody new follows; every second time somebody of the list leaves.
  func churnOnce(_ login: String) throws {
    try withPerson(login) { world, owner in
      world.churns += 1
      var dice = Seed.mix(world.churns ^ UInt64(bitPattern: owner))
      let list = world.network.list(ListKey(owner: owner, kind: .followers))
      if world.churns % 2 == 0, list.count > 0 {
        world.network.unfollow(owner, by: list[Int(dice % UInt64(list.count))])
      }
      // Nearly everybody is no follower yet; a few tries find somebody.
      for _ in 0..<100 {
        dice = Seed.mix(dice)
        let person = world.network.person(dice)
        if world.network.isVisible(person), world.network.follow(owner, by: person) { return }
      }
    }
  }
}
