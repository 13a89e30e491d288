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
      // Copied, because processing would flatten the directories of a model.
      resources: [.copy("Books.xcdatamodeld"), .copy("Films.momd")])
  ]
)
