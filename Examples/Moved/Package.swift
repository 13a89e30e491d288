// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Moved",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    // `Model` is a folder of an app for Apple's systems. The plug-in translates what the target excludes.
    .target(
      name: "OrderBook",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      exclude: ["Model"],
      swiftSettings: [.swiftLanguageMode(.v5)],
      plugins: [.plugin(name: "CoreDataModels", package: "OpenCoreData")]),
    .executableTarget(name: "orders", dependencies: ["OrderBook"]),
    .testTarget(
      name: "OrderBookTests",
      dependencies: ["OrderBook", .product(name: "CoreDataTesting", package: "OpenCoreData")],
      exclude: ["App"],
      swiftSettings: [.swiftLanguageMode(.v5)],
      plugins: [.plugin(name: "CoreDataModels", package: "OpenCoreData")]),
  ]
)
