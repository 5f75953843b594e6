import HTTP
import JSONText

/// Made-up GIFs, with all that is odd about GIPHY's: a number says everything about one, and its id holds the number.
struct GifLibrary: Sendable {
  /// How many there are of each kind.
  static let count = 1_000_000
  /// How many a search or the trending list counts, about.
  static let found = 6_000
  /// Nothing is shown from this place on.
  static let cap = 4_999

  private let seed: Seed
  private var removed: Set<String> = []
  /// Keys that are good; `nil`: all.
  var keys: Set<String>?
  /// Calls an hour of one key.
  var limit = 100
  private var windows: [String: (used: Int, end: Int64)] = [:]
  /// Answers so far: addresses of media and counts differ with each.
  private(set) var answers: UInt64 = 0

  init(seed: Seed) { self.seed = seed }

  mutating func remove(_ id: String) { removed.insert(id) }

  mutating func beginAnswer() -> UInt64 {
    answers += 1
    return answers
  }

  /// Takes a call from the key's hour. `false`: it is used up.
  mutating func charge(_ key: String, now: Int64) -> Bool {
    var window = windows[key] ?? (0, now + 3600)
    if window.end <= now { window = (0, now + 3600) }
    window.used += 1
    windows[key] = window
    return window.used <= limit
  }

  // MARK: Which

  static func id(_ number: Int, isSticker: Bool) -> String {
    let digits = String(number)
    return (isSticker ? "Stk" : "Gif") + "xQ" + String(repeating: "0", count: 9 - digits.utf8.count) + digits
  }

  /// The number of an id that exists.
  func number(of id: String) -> (Int, isSticker: Bool)? {
    guard id.utf8.count == 14, id.hasPrefix("GifxQ") || id.hasPrefix("StkxQ"), let number = Int(id.dropFirst(5)),
      (0..<Self.count).contains(number), !removed.contains(id)
    else { return nil }
    return (number, id.hasPrefix("Stk"))
  }

  /// What stands at a place of a list. Every twentieth is the one before it once more, as happens there, and so is the first of
  /// the second page.
  func number(at place: Int, of topic: String) -> Int {
    let place = place > 0 && (place % 20 == 0 || place == 25) ? place - 1 : place
    return Int((Seed.number(of: topic) % 1_000_000 &+ UInt64(place) &* 7_919) % UInt64(Self.count))
  }

  func random(_ answer: UInt64) -> Int { Int(seed.number(.gifs, answer) % UInt64(Self.count)) }
}
