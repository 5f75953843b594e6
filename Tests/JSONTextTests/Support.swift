import JSONText

extension [UInt8] {
  /// The UTF-8 of a literal, which keeps tests readable.
  init(text: String) { self = Array(text.utf8) }

  var text: String { String(decoding: self, as: UTF8.self) }
}

/// The reason and place of a refusal, `nil` if the document passes.
func refusal(_ bytes: [UInt8], limits: JSONText.Limits = .init()) -> JSONText.Invalid? {
  do throws(JSONText.Invalid) {
    try JSONText.check(bytes, limits: limits)
    return nil
  } catch {
    return error
  }
}

func refusal(_ text: String) -> JSONText.Invalid? { refusal([UInt8](text: text)) }

func clean(_ text: String) throws -> String { try JSONText.clean([UInt8](text: text)).text }

func write(_ body: (inout JSONWriter) -> Void) -> String {
  var writer = JSONWriter()
  body(&writer)
  return writer.bytes.text
}

/// A small generator with a seed (SplitMix64), so that random tests fail the same way twice.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  mutating func pick<T>(_ items: [T]) -> T { items[below(items.count)] }
}
