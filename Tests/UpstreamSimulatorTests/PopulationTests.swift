import Testing

@testable import UpstreamSimulator

@Suite struct PopulationTests {
  private let population = Population(seed: 7)

  @Test func everybodyIsFoundByLoginAndByID() {
    for number in stride(from: 0, to: Population.size, by: 997) {
      let login = population.login(of: number)
      #expect(population.number(ofLogin: login.lowercased()) == number)
      #expect(population.number(ofID: population.id(of: number)) == number)
      #expect(Network.isLogin(login), "\(login)")
    }
    #expect(population.number(ofID: 100_001) == nil)
    #expect(population.number(ofID: population.id(of: Population.size)) == nil)
    #expect(population.number(ofLogin: "ada") == nil)
    #expect(population.number(ofLogin: "ada99999999999999999999") == nil)
  }

  @Test func peopleAreAsOddAsRealOnes() {
    let logins = (0..<20_000).map(population.login)
    #expect(Set(logins).count == 20_000)
    #expect(logins.contains { $0.hasPrefix("-") })
    #expect(logins.contains { $0.hasSuffix("-") })
    #expect(logins.contains { $0.contains("--") })
    #expect(logins.contains { $0.hasSuffix("[bot]") })
    #expect(logins.contains { $0.contains("_") })
    #expect(Set((0..<20_000).map(population.kind)) == [.user, .organization, .bot])
    #expect(population.id(of: Population.size - 1) > Int64(Int32.max))
    let profiles = (0..<20_000).map { number in
      Profile(Card(id: population.id(of: number), login: logins[number], kind: .user), seed: population.seed)
    }
    #expect(profiles.contains { $0.bio == nil })
    #expect(profiles.contains { $0.bio == "" })
    #expect(profiles.contains { $0.name == nil })
    #expect(profiles.contains { $0.name?.contains("🦜") == true })
    #expect(profiles.contains { $0.blog == "" })
    #expect(profiles.allSatisfy { ($0.bio?.count ?? 0) <= 160 && $0.updatedAt >= $0.createdAt })
  }

  @Test func permutationIsUndoneByItsOrigin() {
    for number in [UInt64(0), 1, 7, .max] {
      let permutation = Permutation(bits: 10, number: Seed.mix(number))
      #expect(Set((0..<1024).map { permutation($0) }) == Set(0..<1024))
      #expect((0..<1024).allSatisfy { permutation.origin(of: permutation($0)) == $0 })
    }
  }

  @Test(arguments: [0, 1, 2, 3, 10, 1000])
  func positionsInListsAreFoundAgain(following: Int) {
    for followers in [0, 1, 2, 3, 500] {
      for kind in [ListKey.Kind.followers, .following] {
        let list = SeededList(
          ListKey(owner: 9, kind: kind), followers: followers, following: following, seed: population.seed)
        let people = (0..<list.count).map(list.person)
        #expect(Set(people).count == list.count)
        #expect(people.enumerated().allSatisfy { list.position(of: $1) == $0 })
        let others = (0..<2000).filter { !people.contains($0) }
        #expect(others.allSatisfy { list.position(of: $0) == nil })
      }
    }
  }

  @Test func base64IsAsInTheStandard() {
    let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("04:User1", "MDQ6VXNlcjE=")]
    for (text, encoded) in pairs {
      #expect(String(decoding: UserRenderer.base64(text.utf8), as: UTF8.self) == encoded)
    }
  }
}
