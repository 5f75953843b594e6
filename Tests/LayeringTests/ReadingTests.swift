import Testing

/// The rules are only as good as the reading of the files they are checked on.
@Suite struct ReadingTests {
  @Test func `imports are found in every spelling, and nothing else is`() {
    let text = """
      // import Comment
      import Glibc
      @testable import HTTP
      public import struct Postgres.Rows
      @_spi(Testing) @preconcurrency internal import EventLoop
        import FoundationEssentials // indented
      let important = "import Text"
      importer()
      """
    let imports = Repository.imports(in: text)
    #expect(imports.map(\.module) == ["Glibc", "HTTP", "Postgres", "EventLoop", "FoundationEssentials"])
    #expect(imports.map(\.line) == [2, 3, 4, 5, 6])
  }

  @Test func `a manifest is read in order, without its comments`() {
    let manifest = Manifest(
      """
      // .target(name: "Ghost"),
      products: [.executable(name: "tool", targets: ["tool"])],
      .systemLibrary(name: "CLib", pkgConfig: "lib", providers: [.apt(["lib-dev"])]),
      .target(name: "Low"),
      .target(
        name: "High",
        dependencies: [
          "CLib", "Low",
        ]),
      .target(name: "Aside", dependencies: ["Low"], path: "Tests/Aside"),
      .testTarget(name: "HighTests", dependencies: ["High"]),
      """)
    #expect(
      manifest.targets == [
        .init(name: "CLib", kind: "systemLibrary", dependencies: []),
        .init(name: "Low", kind: "target", dependencies: []),
        .init(name: "High", kind: "target", dependencies: ["CLib", "Low"]),
        .init(name: "Aside", kind: "target", dependencies: ["Low"], path: "Tests/Aside"),
        .init(name: "HighTests", kind: "testTarget", dependencies: ["High"]),
      ])
  }
}
