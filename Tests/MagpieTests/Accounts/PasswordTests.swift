import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Magpie

@Suite struct PasswordHashTests {
  private static let cheap = PasswordHash.Parameters.least

  /// RFC 7914, section 12: scrypt("pleaseletmein", "SodiumChloride", 16384, 8, 1, 64).
  @Test func vectorOfTheStandardMatches() throws {
    let key: [UInt8] = [
      0x70, 0x23, 0xbd, 0xcb, 0x3a, 0xfd, 0x73, 0x48, 0x46, 0x1c, 0x06, 0xcd, 0x81, 0xfd, 0x38, 0xeb, 0xfd, 0xa8, 0xfb,
      0xba,
      0x90, 0x4f, 0x8e, 0x3e, 0xa9, 0xb5, 0x43, 0xf6, 0x54, 0x5d, 0xa1, 0xf2, 0xd5, 0x43, 0x29, 0x55, 0x61, 0x3f, 0x0f,
      0xcf,
      0x62, 0xd4, 0x97, 0x05, 0x24, 0x2a, 0x9a, 0xf9, 0xe6, 0x1e, 0x85, 0xdc, 0x0d, 0x65, 0x1e, 0x40, 0xdf, 0xcf, 0x01,
      0x7b,
      0x45, 0x57, 0x58, 0x87,
    ]
    let text = "$scrypt$ln=14,r=8,p=1$\(Base64.encode(Array("SodiumChloride".utf8)))$\(Base64.encode(key))"
    let hash = try #require(PasswordHash(text))
    #expect(hash.matches(Array("pleaseletmein".utf8)))
    #expect(!hash.matches(Array("pleaseletmeiN".utf8)))
    #expect(hash.isOutdated(where: .standard))
    #expect(hash.text == text)
  }

  @Test func hashTellsItsParametersAndNothingElse() throws {
    let password = Array("correct horse".utf8)
    let hash = PasswordHash(password: password, parameters: Self.cheap)
    let again = PasswordHash(password: password, parameters: Self.cheap)
    #expect(hash.text != again.text)
    #expect(hash.text.hasPrefix("$scrypt$ln=10,r=1,p=1$"))
    let read = try #require(PasswordHash(hash.text))
    #expect(read == hash)
    #expect(read.matches(password) && !read.matches([]) && !read.matches(password + password))
    #expect(PasswordHash.Parameters.standard == PasswordHash.Parameters(ln: 15, r: 8, p: 3))
    #expect(!hash.isOutdated(where: .least) && PasswordHash(password: []).parameters == .standard)
  }

  @Test func passwordsAreTakenByteByByte() {
    // The same letters composed differently, a blank, and nothing: all different. (Of NULs at the end scrypt sees nothing,
    // which is why bodies may not have any.)
    let passwords: [[UInt8]] = [[], Array("é".utf8), Array("e\u{301}".utf8), Array("é ".utf8), Array("É".utf8)]
    for (index, password) in passwords.enumerated() {
      let hash = PasswordHash(password: password, parameters: Self.cheap)
      for (other, candidate) in passwords.enumerated() { #expect(hash.matches(candidate) == (index == other)) }
    }
  }

  @Test func onlyReasonableStringsAreRead() {
    let salt = Base64.encode([UInt8](repeating: 1, count: 16))
    let key = Base64.encode([UInt8](repeating: 2, count: 32))
    func reads(_ text: String) -> Bool { PasswordHash(text) != nil }
    #expect(reads("$scrypt$ln=10,r=1,p=1$\(salt)$\(key)"))
    #expect(reads("$scrypt$ln=20,r=32,p=16$\(salt)$\(key)"))
    for settings in [
      "ln=9,r=8,p=1", "ln=21,r=8,p=1", "ln=15,r=0,p=1", "ln=15,r=33,p=1", "ln=15,r=8,p=0", "ln=15,r=8,p=17",
      "ln=15,r=8",
      "r=8,ln=15,p=1", "ln=15,r=8,p=1,x=1", "ln=,r=8,p=1", "ln=99999999999999999999,r=8,p=1", "",
    ] {
      #expect(!reads("$scrypt$\(settings)$\(salt)$\(key)"), "\(settings)")
    }
    for text in [
      "", "$", "$scrypt$ln=15,r=8,p=3$\(salt)", "$argon2id$ln=15,r=8,p=3$\(salt)$\(key)",
      "x$scrypt$ln=15,r=8,p=3$\(salt)$\(key)",
      "$scrypt$ln=15,r=8,p=3$\(salt)$\(key)$", "$scrypt$ln=15,r=8,p=3$!!!!$\(key)", "$scrypt$ln=15,r=8,p=3$AAAA$\(key)",
      "$scrypt$ln=15,r=8,p=3$\(salt)$AAAA", "$scrypt$ln=15,r=8,p=3$\(salt)$\(key)=",
    ] {
      #expect(!reads(text), "\(text)")
    }
  }

  @Test func nobodysHashMatchesNothing() {
    let dummy = PasswordHash.dummy(.standard)
    #expect(!dummy.isOutdated(where: .standard))
    #expect(!dummy.matches(Array("no account has this password".utf8)))
  }
}

@Suite struct PasswordPolicyTests {
  @Test(arguments: [
    ("1234567", PasswordPolicy.Refusal?.some(.tooShort)), ("zq8#mmvl", nil), ("ééé", .tooShort), ("éüöä", nil),
    ("12345678", .common), ("87654321", .common), ("abcdefgh", .common), ("Password1!", .common), ("qwertyui", .common),
    ("aaaaaaaa", .common), ("abababab", .common), ("iloveyou2", .common), ("magpie123", .common), ("ann12345", .common),
    ("correcthorsebatterystaple", .common), ("correct horse battery staple", nil), ("ann has a long one", nil),
  ])
  func commonAndShortOnesAreRefused(password: String, refusal: PasswordPolicy.Refusal?) {
    #expect(PasswordPolicy.refusal(of: password, username: "ann") == refusal)
  }

  @Test func boundsAreInBytes() {
    func refusal(_ count: Int, _ unit: String) -> PasswordPolicy.Refusal? {
      PasswordPolicy.refusal(of: String(repeating: unit, count: count), username: nil)
    }
    #expect(refusal(256, "ab&3") == nil)
    #expect(refusal(257, "ab&3") == .tooLong)
    #expect(PasswordPolicy.refusal(of: "abc&xyz", username: nil) == .tooShort)
    #expect(PasswordPolicy.refusal(of: "abc&xyz!", username: nil) == nil)
  }
}

@Suite struct PasswordWorkersTests {
  /// Keeps a worker's thread until it is opened.
  private final class Barrier: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let count = Mutex(0)
    var arrivals: Int { count.withLock { $0 } }
    func open() { gate.signal() }
    func pass() {
      count.withLock { $0 += 1 }
      gate.wait()
      // Open for all who come after, too.
      gate.signal()
    }
  }

  private final class Order: Sendable {
    private let list = Mutex<[String]>([])
    var names: [String] { list.withLock { $0 } }
    func add(_ name: String) { list.withLock { $0.append(name) } }
  }

  @Test func queueIsBounded() async throws {
    let workers = PasswordWorkers(threads: 1, limit: 3)
    let barrier = Barrier()
    let first = Task { try await workers.run { barrier.pass() } }
    while barrier.arrivals == 0 { await Task.yield() }
    // One runs; so many may wait, and one more is refused.
    var refused = 0
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            try await workers.run { barrier.pass() }
            return true
          } catch is PasswordWorkers.Busy {
            barrier.open()
            return false
          }
        }
      }
      for try await wasRun in group where !wasRun { refused += 1 }
    }
    try await first.value
    #expect(refused == 1)
    #expect(barrier.arrivals == 4)
    // Idle again, it takes work again.
    #expect(try await workers.run { 7 } == 7)
  }

  /// A crowd that fills the queue neither keeps an urgent hash out nor makes it wait for its turn.
  @Test func urgentOnesGoFirst() async throws {
    let workers = PasswordWorkers(threads: 1, limit: 3)
    let barrier = Barrier()
    let order = Order()
    try await withThrowingTaskGroup { group in
      group.addTask { try await workers.run { barrier.pass() } }
      while barrier.arrivals == 0 { await Task.yield() }
      for _ in 0..<3 { group.addTask { try await workers.run { order.add("crowd") } } }
      while workers.waiting.ordinary < 3 { await Task.yield() }
      await #expect(throws: PasswordWorkers.Busy.self) { try await workers.run {} }
      group.addTask { try await workers.run(isUrgent: true) { order.add("urgent") } }
      while workers.waiting.urgent < 1 { await Task.yield() }
      barrier.open()
      try await group.waitForAll()
    }
    #expect(order.names == ["urgent", "crowd", "crowd", "crowd"])
    #expect(workers.count == 5)
  }

  @Test func defaultTakesThirtyTwo() async throws {
    let workers = PasswordWorkers()
    let barrier = Barrier()
    let refusals = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<40 {
        group.addTask {
          do {
            try await workers.run { barrier.pass() }
            return true
          } catch is PasswordWorkers.Busy {
            return false
          }
        }
      }
      var refusals = 0
      // The refused come back first; then the others may end.
      for try await wasRun in group {
        if !wasRun { refusals += 1 }
        if refusals == 7 { barrier.open() }
      }
      return refusals
    }
    #expect(refusals == 7)
    #expect(barrier.arrivals == 33)
  }
}
