import Magpie
import Testing

/// Places in a manual order: always between, always short enough, or honestly none.
@Suite struct RankTests {
  @Test func aRankIsBetweenItsNeighbors() throws {
    let texts = [
      "", "!", "!!", "\"", "0", "00", "0001", "1", "9", "A", "V", "V0001", "V00011", "V0002", "Z", "a", "z", "zz",
      "zzzzz",
      "zzzzzz", "{", "~", "~~~~",
    ]
    for low in texts {
      for high in texts where low.utf8.lexicographicallyPrecedes(high.utf8) {
        let rank = Rank.between(low, high)
        if high == low + "!" {
          #expect(rank == nil, "\(low) \(high)")
          continue
        }
        let found = try #require(rank, "\(low) \(high)")
        #expect(low.utf8.lexicographicallyPrecedes(found.utf8), "\(low) < \(found)")
        #expect(found.utf8.lexicographicallyPrecedes(high.utf8), "\(found) < \(high)")
        #expect(Rank.isValid(found))
      }
      let last = try #require(Rank.between(low, nil))
      #expect(low.utf8.lexicographicallyPrecedes(last.utf8))
      #expect(Rank.between(low, low) == nil)
    }
    #expect(Rank.between("b", "a") == nil)
    #expect(Rank.between(nil, "!") == nil)
    #expect(Rank.between(nil, "") == nil)
  }

  @Test func longListsOfAdditionsStayShort() throws {
    var last: String?
    var first: String?
    for _ in 0..<20_000 {
      let next = try #require(Rank.between(last, nil))
      if let last { #expect(last.utf8.lexicographicallyPrecedes(next.utf8)) }
      last = next
      let before = try #require(Rank.between(nil, first ?? "V"))
      if let first { #expect(before.utf8.lexicographicallyPrecedes(first.utf8)) }
      first = before
    }
    #expect(try #require(last).utf8.count <= 8)
    #expect(try #require(first).utf8.count <= 8)
  }

  @Test func theSamePlaceIsGoodForHundreds() throws {
    // Always after the same one, always before the same one, and always between the last two.
    for pattern in 0..<3 {
      var low = "V"
      var high = "W"
      var count = 0
      while let rank = Rank.between(low, high) {
        #expect(rank.utf8.count <= Rank.maxLength)
        count += 1
        if pattern == 0 || pattern == 2 && count % 2 == 0 { high = rank } else { low = rank }
      }
      #expect(count >= 400, "\(pattern)")
    }
  }

  @Test func spreadRanksAreInOrderAndShort() throws {
    for count in [0, 1, 2, 61, 1_000, 20_000] {
      for (low, high) in [(nil, nil), ("V", "W"), ("V", nil), (nil, "V"), ("a", "a0")] as [(String?, String?)] {
        let ranks = try #require(Rank.spread(count, between: low, and: high))
        #expect(ranks.count == count)
        let all = [low ?? ""] + ranks + (high.map { [$0] } ?? [])
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(ranks.allSatisfy { $0.utf8.count <= 12 })
      }
    }
    #expect(Rank.spread(1, between: "", and: "!!") == ["!"])
    #expect(Rank.spread(2, between: "", and: "!!") == nil)
    #expect(Rank.spread(1, between: "a", and: "a") == nil)
    #expect(Rank.spread(1, between: "a", and: "a!") == nil)
  }

  @Test func onlyPrintableTextsAreRanks() {
    #expect(Rank.isValid("") && Rank.isValid("!~") && Rank.isValid(String(repeating: "a", count: 100)))
    for text in [" ", "a b", "é", "\u{7F}", "\n", String(repeating: "a", count: 101)] {
      #expect(!Rank.isValid(text))
    }
  }
}
