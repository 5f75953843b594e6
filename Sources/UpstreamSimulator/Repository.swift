import HTTP

/// A made-up repository.
struct Repository: Sendable, Equatable {
  /// Why a repository cannot be seen, though it stands in its owner's list.
  enum State: Sendable, Equatable {
    case present
    /// 451: somebody's rights.
    case takenDown
    /// 403 with a block object: GitHub's terms.
    case blocked
    /// 404, and in no list.
    case deleted
  }

  let id: Int64
  var owner: Int64
  var name: String
  var description: String?
  var isFork = false
  /// The main language; forks often have none although they have languages.
  var language: String?
  var stars: Int64 = 0
  /// Commits on the default branch; 0 for an empty repository.
  var commits = 0
  var languages: [(name: String, bytes: Int64)] = []
  /// Seconds since 1970, all three.
  var createdAt: Int64
  var updatedAt: Int64
  var pushedAt: Int64
  var state = State.present

  var key: String { name.lowercased() }

  static func == (a: Repository, b: Repository) -> Bool {
    a.id == b.id && a.updatedAt == b.updatedAt && a.state == b.state
  }
}

extension Repository {
  private static let words = ["magpie", "nest", "feather", "branch", "berry", "twig", "seed", "wing", "moss", "pond"]
  private static let descriptions: [String?] = [
    nil, "", "Finds things that shine.", "Línea \"uno\"\nand two 🪺", "שלום", "a <b>bold</b> & simple thing",
  ]
  private static let tongues = [
    "Swift", "C++", "Python", "C", "Jupyter Notebook", "Objective-C", "Shell", "F*", "C#", "HTML",
  ]

  /// The number-th repository that an owner was born with.
  init(seeded number: Int, of owner: Int64, seed: Seed) {
    let dice = seed.number(.repositories, UInt64(bitPattern: owner) &* 4_099 &+ UInt64(number))
    let word = Repository.words[Int(dice % 10)]
    // Ids go beyond 2^31, as GitHub's will.
    id = owner % 4_000_000 * 4_096 + Int64(number) + 1
    self.owner = owner
    name = number == 0 ? ".github" : "\(number % 3 == 0 ? word.capitalizedASCII : word)-\(number)"
    description = Repository.descriptions[Int(dice >> 8 & 0xFF) % Repository.descriptions.count]
    isFork = dice >> 16 & 3 == 0
    let main = Int(dice >> 20 & 0xFF) % Repository.tongues.count
    language = isFork ? nil : Repository.tongues[main]
    languages = (0...Int(dice >> 28 & 3)).map { index in
      (Repository.tongues[(main + index) % 10], Int64(dice >> 30 & 0xFFFF) * 70_001 / Int64(index * index + 1) + 1)
    }
    stars = Int64(dice >> 34 & 0xFFF) * Int64(dice >> 46 & 7)
    commits = 1 + Int(dice >> 50 & 0x7F)
    createdAt = 1_300_000_000 + Int64(number) * 86_400 + Int64(dice >> 40 & 0xFFF)
    updatedAt = createdAt + Int64(dice >> 24 & 0xFFF_FFFF)
    pushedAt = createdAt + Int64(dice >> 12 & 0xFFF_FFFF)
  }

  /// A new one.
  init(id: Int64, owner: Int64, name: String, at now: Int64) {
    self.id = id
    self.owner = owner
    self.name = name
    createdAt = now
    updatedAt = now
    pushedAt = now
    commits = 1
  }
}
