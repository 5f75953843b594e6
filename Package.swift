// swift-tools-version:6.2
import PackageDescription

// A target may import only targets listed above it, and only where the arrow is needed
// (docs/architecture.md). `LayeringTests` reads this file and the imports and checks both.
let package = Package(
  name: "magpie",
  targets: [
    .systemLibrary(name: "CLinux"),

    .target(name: "EventLoop", dependencies: ["CLinux"]),
    .target(name: "JSONText"),
    .target(name: "HTTP", dependencies: ["JSONText"]),
    .target(name: "HTTPServer", dependencies: ["EventLoop", "HTTP"]),
    .testTarget(name: "EventLoopTests", dependencies: ["EventLoop"]),
    .testTarget(name: "JSONTextTests", dependencies: ["JSONText"]),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP", "JSONText"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTP", "EventLoop"]),
  ],
  swiftLanguageModes: [.v6]
)
