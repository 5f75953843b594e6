/// Four million people, none of them stored: ids, logins and kinds are functions of the seed and a person's number.
struct Population: Sendable {
  static let bits = 22
  static let size = 1 << bits
  private static let firstID: Int64 = 100_000
  /// Spreads ids beyond 2^31, so that nobody gets away with 32 bits.
  private static let idStep: Int64 = 613

  let seed: Seed

  init(seed: UInt64) { self.seed = Seed(value: seed) }

  func id(of number: Int) -> Int64 { Population.firstID + Int64(number) * Population.idStep }

  /// `nil` when the id is nobody's.
  func number(ofID id: Int64) -> Int? {
    let distance = id - Population.firstID
    guard distance >= 0, distance % Population.idStep == 0 else { return nil }
    let number = distance / Population.idStep
    return number < Population.size ? Int(number) : nil
  }

  /// The login a person was born with. It holds the person's number, so logins are unique and can be looked up.
  func login(of number: Int) -> String {
    let dice = seed.number(.login, UInt64(number))
    let first = Names.first[Int(dice >> 8) % Names.first.count]
    let last = Names.last[Int(dice >> 24) % Names.last.count]
    switch style(of: number) {
    case .leadingHyphen: return "-\(first)\(number)"
    case .trailingHyphen: return "\(first)\(number)-"
    case .doubleHyphen: return "\(first)--\(last)\(number)"
    case .managed: return "\(first)\(number)_corp"
    case .bot: return "\(first)-\(number)[bot]"
    case .organization: return "\(last)labs\(number)"
    case .camel: return "\(first.capitalizedASCII)\(last.capitalizedASCII)\(number)"
    case .hyphen: return "\(first)-\(last)-\(number)"
    case .plain: return "\(first)\(number)"
    }
  }

  /// Looks a lowered login up. `nil` when nobody was born with it.
  func number(ofLogin login: String) -> Int? {
    var text = Substring(login)
    for suffix in ["[bot]", "_corp", "-"] where text.hasSuffix(suffix) { text.removeLast(suffix.count) }
    guard let number = Int(String(text.reversed().prefix { $0.isASCII && $0.isNumber }.reversed())),
      number < Population.size, self.login(of: number).lowercased() == login
    else { return nil }
    return number
  }

  func kind(of number: Int) -> Card.Kind {
    switch style(of: number) {
    case .bot: .bot
    case .organization: .organization
    default: .user
    }
  }

  private enum Style {
    case leadingHyphen, trailingHyphen, doubleHyphen, managed, bot, organization, camel, hyphen, plain
  }

  private func style(of number: Int) -> Style {
    switch seed.number(.login, UInt64(number)) % 64 {
    case 0: .leadingHyphen
    case 1: .trailingHyphen
    case 2: .doubleHyphen
    case 3: .managed
    case 4: .bot
    case 5, 6: .organization
    case 7...20: .camel
    case 21...40: .hyphen
    default: .plain
    }
  }
}

/// What a list shows of a person.
struct Card: Sendable, Equatable {
  enum Kind: String, Sendable {
    case user = "User"
    case organization = "Organization"
    case bot = "Bot"
  }

  let id: Int64
  let login: String
  let kind: Kind
}

/// Words to make logins of; none holds a digit.
enum Names {
  static let first = [
    "ada", "bo", "cleo", "dmitri", "emeka", "fatima", "goro", "hana", "ines", "jonas", "kofi", "lena", "mira", "noor",
    "olga", "pablo", "quentin", "rosa", "sven", "tariq", "uma", "vera", "wen", "ximena", "yuki", "zoe", "aino", "bilal",
    "chidi", "dalia", "erik", "freya",
  ]
  static let last = [
    "abbott", "bergman", "castro", "dubois", "eriksen", "fischer", "garcia", "haddad", "ivanov", "jensen", "kowalski",
    "lindqvist", "mbeki", "novak", "okafor", "petrov", "quispe", "rossi", "sato", "tanaka", "ueda", "vargas", "weber",
    "xu", "yilmaz", "zhang", "almeida", "brandt", "costa", "dahl", "endo", "farah",
  ]
}

extension String {
  /// The first letter in upper case; the words here are ASCII.
  var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
