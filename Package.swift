// swift-tools-version:6.2
import PackageDescription

// Every byte that a test sends or gets goes through `JSONText`, whose loops are many times as slow without the optimizer.
let optimized: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

// A target may import only targets listed above it, and only where the arrow is needed
// (docs/architecture.md). `LayeringTests` reads this file and the imports and checks both.
let package = Package(
  name: "magpie",
  products: [
    .executable(name: "magpie", targets: ["magpie"]),
    .executable(name: "upstream-simulator", targets: ["upstream-simulator"]),
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(
      name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    .target(name: "EventLoop", dependencies: ["CLinux"]),
    .target(name: "Postgres", dependencies: ["CLinux", "CLibpq", "CLibcrypto", "EventLoop"]),
    .target(name: "JSONText", swiftSettings: optimized),
    .target(name: "HTTP", dependencies: ["JSONText"]),
    .target(name: "HTTPServer", dependencies: ["EventLoop", "HTTP"]),
    .target(name: "HTTPClient", dependencies: ["CLibcurl", "EventLoop", "HTTP"]),
    .target(name: "Upstream", dependencies: ["JSONText", "HTTP"]),
    .executableTarget(name: "embed-schema"),
    .plugin(
      name: "SchemaPlugin", capability: .buildTool(), dependencies: ["embed-schema"], path: "Sources/SchemaPlugin"),
    .target(name: "MagpieSchema", plugins: ["SchemaPlugin"]),
    .target(
      name: "Magpie",
      dependencies: ["CLibcrypto", "CZlib", "EventLoop", "Postgres", "JSONText", "HTTPClient", "Upstream"]),
    .target(
      name: "MagpieAPI",
      dependencies: ["EventLoop", "Postgres", "JSONText", "HTTP", "HTTPServer", "Magpie"]),
    .executableTarget(
      name: "magpie",
      dependencies: [
        "CLinux", "EventLoop", "Postgres", "JSONText", "HTTP", "HTTPServer", "HTTPClient", "Upstream", "MagpieSchema",
        "Magpie", "MagpieAPI",
      ]),
    .target(
      name: "UpstreamSimulator",
      dependencies: ["EventLoop", "JSONText", "HTTP", "HTTPServer"]),
    .executableTarget(
      name: "upstream-simulator", dependencies: ["EventLoop", "UpstreamSimulator"]),

    .executableTarget(
      name: "queue-benchmark", dependencies: ["EventLoop", "Postgres", "Magpie"], path: "Benchmarks/queue"),

    .target(name: "TestSupport", dependencies: ["EventLoop", "Postgres"], path: "Tests/TestSupport"),
    .target(
      name: "WorldSupport",
      dependencies: [
        "EventLoop", "Postgres", "JSONText", "HTTP", "HTTPServer", "HTTPClient", "Upstream", "MagpieSchema", "Magpie",
        "MagpieAPI", "UpstreamSimulator", "TestSupport",
      ], path: "Tests/WorldSupport"),
    .testTarget(name: "LayeringTests"),
    .testTarget(name: "EventLoopTests", dependencies: ["EventLoop"]),
    .testTarget(name: "PostgresTests", dependencies: ["CLibpq", "Postgres", "EventLoop", "TestSupport"]),
    .testTarget(name: "JSONTextTests", dependencies: ["JSONText"], swiftSettings: optimized),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP", "JSONText"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTP", "EventLoop"]),
    .testTarget(
      name: "HTTPClientTests", dependencies: ["HTTPClient", "HTTPServer", "HTTP", "EventLoop"]),
    .testTarget(name: "UpstreamTests", dependencies: ["Upstream", "HTTP", "JSONText"]),
    .testTarget(
      name: "UpstreamSimulatorTests",
      dependencies: ["UpstreamSimulator", "HTTPServer", "HTTPClient", "HTTP", "EventLoop"]),
    .testTarget(name: "MagpieTests", dependencies: ["Magpie", "JSONText", "HTTP"]),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "EventLoop", "Postgres", "JSONText", "HTTP", "HTTPServer", "HTTPClient", "Upstream",
        "MagpieSchema", "Magpie", "MagpieAPI", "UpstreamSimulator", "TestSupport", "WorldSupport",
      ]),
    .testTarget(
      name: "APITests",
      dependencies: [
        "EventLoop", "Postgres", "JSONText", "HTTP", "HTTPServer", "HTTPClient", "Upstream",
        "MagpieSchema", "Magpie", "MagpieAPI", "UpstreamSimulator", "TestSupport", "WorldSupport",
      ]),
    .testTarget(
      name: "BlackBoxTests",
      dependencies: [
        "EventLoop", "Postgres", "JSONText", "HTTP", "HTTPClient", "TestSupport", "magpie", "upstream-simulator",
      ]),
    .testTarget(name: "StackTests", dependencies: ["EventLoop", "HTTP", "HTTPClient", "JSONText"]),
  ],
  swiftLanguageModes: [.v6]
)
