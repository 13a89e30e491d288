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
      exclude: ["README.md", "Schemas", "Stores", "Tests", "check.sh", "expected.txt"],
      sources: ["Sources"]),
    .testTarget(
      name: "TripsTests",
      dependencies: ["trips", .product(name: "SwiftDataTesting", package: "OpenCoreData")],
      path: "Tests"),
  ]
)
