// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Trips",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "trips",
      dependencies: [
        .product(name: "SwiftData", package: "OpenCoreData")
      ],
      path: ".",
      exclude: ["README.md", "check.sh", "expected.txt", "Stores"],
      sources: ["Sources"])
  ]
)
