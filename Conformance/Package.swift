// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that nobody who uses the library builds it. On Apple's systems `import CoreData` means Apple's
// framework, and nothing of OpenCoreData is built.
#if canImport(Darwin)
let packages: [Package.Dependency] = []
let coreData: [Target.Dependency] = []
#else
let packages: [Package.Dependency] = [.package(name: "OpenCoreData", path: "..")]
let coreData: [Target.Dependency] = [.product(name: "CoreData", package: "OpenCoreData")]
#endif

// Swift 5's rules of concurrency, since Apple's classes have other annotations than ours.
let package = Package(
  name: "Conformance",
  platforms: [.macOS(.v14)],
  dependencies: packages,
  targets: [
    .executableTarget(name: "exchange", dependencies: coreData, swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
      name: "ConformanceTests", dependencies: coreData, exclude: ["Figures/version-hashes.txt", "Models"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
