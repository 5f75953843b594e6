import Testing

/// The rules of docs/architecture.md that can be read off the sources.
@Suite struct LayeringTests {
  private let manifest: Manifest

  init() throws { manifest = Manifest(try Repository.text("Package.swift")) }

  private var sources: [Manifest.Target] { manifest.targets.filter { $0.kind != "testTarget" } }

  @Test func `the manifest is understood`() throws {
    let names = manifest.targets.map(\.name)
    #expect(names.count == Set(names).count)
    let loop = try #require(manifest.targets.first { $0.name == "EventLoop" })
    #expect(loop == Manifest.Target(name: "EventLoop", kind: "target", dependencies: ["CLinux"]))
    // A folder nobody declared would escape every other rule here.
    let folders = Set(try Repository.files(below: "Sources", endingWith: ".swift").compactMap(Self.folder))
    #expect(folders.subtracting(names) == [])
  }

  @Test func `a target depends only on targets declared above it`() {
    var above: Set<String> = []
    for target in manifest.targets {
      for dependency in target.dependencies {
        #expect(above.contains(dependency), "\(target.name) depends on \(dependency), which comes later")
      }
      above.insert(target.name)
    }
  }

  @Test func `a file imports only what its target declares`() throws {
    let own = Set(manifest.targets.map(\.name))
    let declared = Dictionary(uniqueKeysWithValues: manifest.targets.map { ($0.name, Set($0.dependencies)) })
    for path in try Repository.files(below: "Sources", endingWith: ".swift") {
      let target = try #require(Self.folder(path))
      for (module, line) in Repository.imports(in: try Repository.text(path)) where own.contains(module) {
        #expect(declared[target]?.contains(module) == true, "\(path):\(line) imports \(module)")
      }
    }
  }

  @Test func `a declared dependency is used`() throws {
    for target in sources where target.kind != "plugin" {
      let files = try Repository.files(below: target.path ?? "Sources/\(target.name)", endingWith: ".swift")
      let imported = Set(try files.flatMap { try Repository.imports(in: Repository.text($0)).map(\.module) })
      for dependency in target.dependencies {
        #expect(imported.contains(dependency), "\(target.name) declares \(dependency) and never imports it")
      }
    }
  }

  /// Build tools run on the developer's machine, and the SDK lives in apps that have Foundation anyway.
  private static let mayUseFoundation: Set = ["embed-schema", "SchemaPlugin", "MagpieClient"]

  @Test func `the server does without Foundation`() throws {
    for path in try Repository.files(below: "Sources", endingWith: ".swift") {
      guard let target = Self.folder(path), !Self.mayUseFoundation.contains(target) else { continue }
      for (module, line) in Repository.imports(in: try Repository.text(path)) {
        #expect(!["Foundation", "FoundationNetworking", "Dispatch"].contains(module), "\(path):\(line)")
      }
    }
  }

  @Test func `FoundationEssentials comes with a reason beside it`() throws {
    for path in try Repository.files(below: "Sources", endingWith: ".swift") {
      guard let target = Self.folder(path), !Self.mayUseFoundation.contains(target) else { continue }
      let text = try Repository.text(path)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      for (module, line) in Repository.imports(in: text) where module == "FoundationEssentials" {
        let before = line > 1 ? lines[line - 2] : ""
        #expect(lines[line - 1].contains("//") || before.hasPrefix("//"), "\(path):\(line) gives no reason")
      }
    }
  }

  @Test func `no file is longer than 500 lines`() throws {
    var files = try Repository.files(below: "Sources", endingWith: ".swift", ".h")
    files += try Repository.files(below: "Tests", endingWith: ".swift")
    files += try Repository.files(below: "sql", endingWith: ".sql", ".md")
    files += try Repository.files(below: "Benchmarks", endingWith: ".py", ".lua", ".sql")
    #expect(files.count > 20)
    for path in files {
      let lines = try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false).count - 1
      #expect(lines <= 500, "\(path) has \(lines) lines")
    }
  }

  /// See `Lock`.
  @Test func `what the thread sanitizer looks at has locks that it can see`() throws {
    let script = try Repository.text(".ci/sanitize")
    let line = try #require(script.split(separator: "\n").first { $0.hasPrefix("check thread ") })
    let tests = line.split(separator: " ").dropFirst(2)
    #expect(tests.count >= 6)
    for target in tests {
      let files =
        try Repository.files(below: "Sources/\(target.dropLast("Tests".count))", endingWith: ".swift")
        + Repository.files(below: "Tests/\(target)", endingWith: ".swift")
      #expect(!files.isEmpty)
      for path in files {
        let text = try Repository.text(path)
        #expect(!text.contains("Mutex(") && !text.contains("Mutex<"), "\(path) has a Mutex")
      }
    }
  }

  @Test func `only the API and the programs know the HTTP server`() {
    let knowing = sources.filter { $0.dependencies.contains("HTTPServer") }.map(\.name)
    let allowed = [
      "MagpieAPI", "MagpieWeb", "magpie", "UpstreamSimulator", "upstream-simulator",
      // Builds API servers for tests.
      "WorldSupport",
    ]
    #expect(Set(knowing).isSubset(of: allowed))
  }

  /// `Sources/HTTP/Link.swift` → `HTTP`.
  private static func folder(_ path: String) -> String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : nil
  }
}
