import JSONText
import Testing

/// Random documents, whole and damaged, from fixed seeds.
@Suite("Random documents")
struct RandomTests {
  private static let strings = [
    "", "a", "url", "x_url", #"\u0000"#, #"\ud83d"#, #"\ude00"#, #"\ud83d\ude00"#, #"\\"#, #"\""#, #"\\u0000"#, "é",
    "😀", #"\u00e9\n"#,
    "https://api.github.com", "https://api.github.com/users/a", #"https:\/\/api.github.com\/u"#,
    "https://api.github.com.evil/",
    "long enough for whole words of eight bytes", #"\"url\":\"https://api.github.com/"#,
  ]
  private static let scraps: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "u", "0", "1", "-", ".", "e", " ", "\n", "t", "true", "null", "\\u",
      "\\ud800", "\\u0000", "\u{1}", "é", "😀",
    ].map { [UInt8](text: $0) } + [[0xFF], [0xED, 0xA0, 0x80], [0xC0], [0x80], [0xE2, 0x82], [0]]

  private static func value(_ dice: inout Dice, depth: Int, isRoot: Bool = false, into text: inout String) {
    func space(_ dice: inout Dice) -> String { dice.below(12) == 0 ? dice.pick([" ", "\n", "\t\r"]) : "" }
    func string(_ dice: inout Dice) -> String {
      "\"\(dice.pick(strings))\(dice.below(3) == 0 ? dice.pick(strings) : "")\""
    }
    let kind = isRoot ? 4 + dice.below(4) : dice.below(depth > 0 ? 8 : 4)
    switch kind {
    case 0: text += dice.pick(["true", "false", "null"])
    case 1: text += dice.pick(["0", "-1", "12.5", "1e9", "-0.1E-2", "1e400", "99999999999999999999"])
    case 2, 3: text += string(&dice)
    default:
      let isObject = kind < 7
      text += isObject ? "{" : "["
      for index in 0..<dice.below(4) {
        text += (index > 0 ? "," : "") + space(&dice)
        if isObject {
          let name = dice.below(3) == 0 ? dice.pick(["\"url\"", "\"x_url\""]) : string(&dice)
          text += name + space(&dice) + ":" + space(&dice)
        }
        value(&dice, depth: depth - 1, into: &text)
        text += space(&dice)
      }
      text += isObject ? "}" : "]"
    }
  }

  private static func document(_ dice: inout Dice) -> [UInt8] {
    var text = ""
    value(&dice, depth: 3, isRoot: true, into: &text)
    return Array(text.utf8)
  }

  private static func damaged(_ document: [UInt8], _ dice: inout Dice) -> [UInt8] {
    var bytes = document
    for _ in 0...dice.below(2) where !bytes.isEmpty {
      let place = dice.below(bytes.count)
      switch dice.below(4) {
      case 0: bytes.remove(at: place)
      case 1: bytes.insert(contentsOf: dice.pick(scraps), at: place)
      case 2: bytes.replaceSubrange(place...place, with: dice.pick(scraps))
      default: bytes.removeSubrange(place...)
      }
    }
    return bytes
  }

  @Test("are accepted exactly when a second reader accepts them, and come out clean", arguments: 0..<8)
  func agreeWithTheReference(seed: Int) throws {
    var dice = Dice(seed: UInt64(seed))
    var accepted = 0
    let rounds = 25_000
    for _ in 0..<rounds {
      let bytes = Self.damaged(Self.document(&dice), &dice)
      let isValid = ReferenceReader.accepts(bytes)
      try #require((refusal(bytes) == nil) == isValid, "\(bytes.text)")
      guard isValid else {
        #expect(throws: JSONText.Invalid.self) { try JSONText.clean(bytes) }
        // Whatever it finds in there, it must come back.
        _ = Leaf.all(in: JSONView(checked: bytes))
        _ = JSONView(checked: bytes).removing(members: ["a"])
        continue
      }
      accepted += 1
      let cleaned = try JSONText.clean(bytes)
      try #require(ReferenceReader.accepts(cleaned), "\(bytes.text)")
      try #require(try JSONText.clean(cleaned) == cleaned)
      try #require(!holdsUnstorable(JSONView(checked: cleaned)), "\(bytes.text)")
    }
    // Both outcomes have to be common for the comparison to mean something.
    #expect(accepted > rounds / 20)
    #expect(accepted < rounds * 19 / 20)
  }

  /// Whether any string decodes to U+0000 or, since none of the test's strings has one, to U+FFFD.
  private func holdsUnstorable(_ view: JSONView) -> Bool {
    func isUnstorable(_ text: String) -> Bool { text.unicodeScalars.contains { $0 == "\0" || $0 == "\u{FFFD}" } }
    if let text = view.string { return isUnstorable(text) }
    return view.elements.contains(where: holdsUnstorable)
      || view.members.contains { isUnstorable($0.key) || holdsUnstorable($0.value) }
  }

  @Test("are rewritten as a walk through the whole structure would", arguments: 0..<4)
  func rewriteLikeAWalk(seed: Int) throws {
    var dice = Dice(seed: UInt64(seed) + 100)
    let rewriter = URLRewriter(bases: ["https://api.github.com"], replacement: "http://m/github")
    var changed = 0
    for _ in 0..<5_000 {
      let bytes = Self.document(&dice)
      let rewritten = write { json in bytes.withUnsafeBytes { rewriter.append($0, to: &json) } }
      let before = Leaf.all(in: try JSONView(bytes))
      let after = Leaf.all(in: try JSONView([UInt8](text: rewritten)))
      try #require(after == before.map { $0.rewritten() }, "\(bytes.text)")
      if rewritten != bytes.text { changed += 1 }
    }
    #expect(changed > 100)
  }

  /// A scalar and the name it stands under.
  private struct Leaf: Equatable {
    let name: String?
    var text: String

    static func all(in view: JSONView, name: String? = nil) -> [Leaf] {
      switch view.kind {
      case .object: view.members.flatMap { [Leaf(name: nil, text: $0.key)] + all(in: $0.value, name: $0.key) }
      case .array: view.elements.flatMap { all(in: $0) }
      default: [Leaf(name: name, text: view.string ?? view.bytes.text)]
      }
    }

    func rewritten() -> Leaf {
      let base = "https://api.github.com"
      guard let name, name == "url" || name.hasSuffix("_url"), text == base || text.hasPrefix(base + "/") else {
        return self
      }
      return Leaf(name: name, text: "http://m/github" + text.dropFirst(base.count))
    }
  }
}
