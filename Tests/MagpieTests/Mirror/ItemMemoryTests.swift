import Testing

@testable import Magpie

@Suite struct ItemMemoryTests {
  private static func key(_ id: Int64, _ digest: Int64 = 1) -> ItemMemory.Key { .init(id: id, digest: digest) }

  @Test func anItemIsKnownByItsIdAndDigestTogether() {
    let memory = ItemMemory()
    memory.keep([(Self.key(1), [7])])
    #expect(memory.items([Self.key(1), Self.key(2), Self.key(1, 2)]) == [[7], nil, nil])
  }

  @Test func whatIsUsedStaysAndTheRestMakesRoom() {
    let memory = ItemMemory(capacity: 100_000)
    for id in 1...1_000 {
      memory.keep([(Self.key(Int64(id)), [UInt8](repeating: 0, count: 900))])
      #expect(memory.items([Self.key(1)])[0] != nil)
    }
    let kept = memory.items((1...1_000).map { Self.key(Int64($0)) }).count { $0 != nil }
    // Room for 100 of them, half of which at most is forgotten at a time.
    #expect((50...101).contains(kept))
    #expect(memory.items([Self.key(1_000), Self.key(2)]).map { $0 != nil } == [true, false])
  }
}
