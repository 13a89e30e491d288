// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Finding",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "finding",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      path: ".",
      exclude: ["README.md", "check.sh", "expected.txt"],
      sources: ["Sources"],
      // As a copy: processed, a model's files would lose their folders.
      resources: [.copy("Books.xcdatamodeld"), .copy("Films.momd")])
  ]
)
