import EventLoop
import HTTP
import HTTPServer
import JSONText
import Magpie

/// `GET /github/users?ids=1,2,3` or `?logins=a,b`: up to a hundred people in one answer, in the order asked.
///
/// Whoever is asked for twice is answered twice. Ids and logins are not mixed. What is missing or stale is ordered behind; with
/// `Prefer: wait=N` the answer waits for what is missing, and tells of what has come by then.
struct CardsEndpoint: Sendable {
  let services: Services

  func show(_ request: Request) async throws -> Response {
    let token = try Authorization.tokenHash(of: request, allowsTokenScheme: true)
    let asked = try CardsEndpoint.people(Parameters(request.target))
    let possible = asked.compactMap(\.person)
    let wish = Wish(request)
    let start = System.monotonicNanoseconds()
    guard var cards = try await services.mirror.cards(of: possible, maxAge: wish.maxAge, token: token) else {
      throw APIError.badCredentials
    }
    var timing = Timing()
    timing.database = System.monotonicNanoseconds() &- start
    var jobs: [String: Job.Ticket] = [:]
    if !wish.onlyStored {
      let wanted = CardsEndpoint.wanted(cards, wish)
      jobs = try await order(wanted, wish, account: cards.account)
      let waits = wish.waitForFresher > .zero && !jobs.isEmpty
      if waits {
        let waitStart = System.monotonicNanoseconds()
        try await wait(for: CardsEndpoint.missing(cards, wish).compactMap { jobs[$0] }, wish)
        timing.queue = System.monotonicNanoseconds() &- waitStart
      }
      // Whoever was not ordered has come since.
      if waits || jobs.count < wanted.count {
        guard let again = try await services.mirror.cards(of: possible, maxAge: wish.maxAge, token: token) else {
          throw APIError.badCredentials
        }
        cards = again
      }
    }
    let fields: Fields = [.serverTiming: timing.fieldValue]
    return Answers.document(body(of: asked, cards, jobs), for: request, fields)
  }

  // MARK: Reading the request

  /// A name as it was asked for; `person` is `nil` for what cannot be anybody's login.
  struct Asked {
    let text: String
    let isID: Bool
    let person: Person?
  }

  static func people(_ parameters: Parameters) throws(APIError) -> [Asked] {
    let limit = StoredCards.maxCount
    let ids = try parameters.text("ids", maxLength: 8_192)
    let logins = try parameters.text("logins", maxLength: 8_192)
    if ids != nil, logins != nil { throw .badParameter("logins", "cannot be given together with ids") }
    guard let text = ids ?? logins else { throw .badParameter("ids", "or logins must be given") }
    let name = ids == nil ? "logins" : "ids"
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= limit else { throw .badParameter(name, "must name at most \(limit) people") }
    var asked: [Asked] = []
    for part in parts {
      if part.isEmpty { throw .badParameter(name, "must be names with commas between, none of them empty") }
      let person = ids == nil ? Person(login: part) : Person(id: part)
      if ids != nil, person == nil { throw .badParameter(name, "must be numbers from 1 with commas between") }
      asked.append(Asked(text: part, isID: ids != nil, person: person))
    }
    return asked
  }

  // MARK: Jobs

  /// The people of whom a profile is to be fetched, by key; each once.
  private static func wanted(_ cards: StoredCards, _ wish: Wish) -> [Person] {
    var keys: Set<String> = []
    return cards.cards.compactMap { card in
      let isWanted =
        switch card.state {
        case .fresh, .absent, .moved: wish.refreshes
        case .gone: wish.refreshes
        case .stale, .partial, .unknown: true
        }
      return isWanted && keys.insert(card.person.key).inserted ? card.person : nil
    }
  }

  /// The keys of those whose profile the client cannot have yet, or wants anew.
  private static func missing(_ cards: StoredCards, _ wish: Wish) -> [String] {
    var keys: Set<String> = []
    for card in cards.cards {
      switch card.state {
      case .partial, .unknown: keys.insert(card.person.key)
      case .stale where wish.maxAge != nil: keys.insert(card.person.key)
      case .fresh, .stale, .gone, .absent, .moved: if wish.refreshes { keys.insert(card.person.key) }
      }
    }
    return keys.sorted()
  }

  private func order(_ people: [Person], _ wish: Wish, account: Int64) async throws -> [String: Job.Ticket] {
    if people.isEmpty { return [:] }
    return try await services.refreshes.requestProfiles(
      of: people, priority: wish.waitForFresher > .zero ? .interactive : .soon, startsOver: wish.refreshes,
      life: min(services.mirror.timeToLive.profile, wish.maxAge ?? .infinity), account: account)
  }

  private func wait(for tickets: [Job.Ticket], _ wish: Wish) async throws {
    let end = System.monotonicNanoseconds() &+ wish.waitForFresher.wholeNanoseconds
    let waiting = JobWait(services: services, resource: "core")
    for ticket in tickets {
      switch try await waiting.end(of: ticket, by: end) {
      case .done, .obstacle: continue
      case .closed, .timedOut: return
      }
    }
  }

  // MARK: The answer

  private func body(of asked: [Asked], _ cards: StoredCards, _ jobs: [String: Job.Ticket]) -> [UInt8] {
    var writer = JSONWriter(capacity: 64 + 2_048 * asked.count)
    var found = cards.cards.makeIterator()
    writer.beginObject()
    writer.key("items")
    writer.beginArray()
    for name in asked {
      writer.beginObject()
      if name.isID {
        writer.key("id")
        writer.raw(Array(name.text.drop { $0 == "0" }.utf8))
      } else {
        writer.key("login")
        writer.string(name.text)
      }
      if name.person != nil, let card = found.next() {
        write(card, cards, jobs[card.person.key], to: &writer)
      } else {
        writer.key("status")
        writer.string("not_found")
      }
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  private func write(_ card: StoredCards.Card, _ cards: StoredCards, _ job: Job.Ticket?, to writer: inout JSONWriter) {
    writer.key("status")
    writer.string(card.state.word)
    if case .moved(let login) = card.state {
      writer.key("moved_to")
      writer.string(login)
    }
    cards.withDocument(of: card) { document, tags in
      writer.key("user")
      services.githubURLs.appendObject(document, to: &writer) { writer in
        writer.key("magpie")
        writer.beginObject()
        MagpieMember.writeFavorite(tags, to: &writer)
        writer.endObject()
      }
    }
    // A card that is fresh by now needs no job, whatever was ordered before.
    if let job, card.state != .fresh, card.state != .absent {
      writer.key("job")
      writer.string("/v1/jobs/\(job.id)")
    }
  }
}

extension StoredCards.State {
  /// As clients read it.
  var word: String {
    switch self {
    case .fresh: "ok"
    case .stale: "stale"
    case .partial: "partial"
    case .gone: "gone"
    case .absent: "not_found"
    case .moved: "moved"
    case .unknown: "pending"
    }
  }
}
