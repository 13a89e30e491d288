// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that nobody who uses the library builds it.
let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "OpenCoreData", path: "..")
  ],
  targets: [
    .systemLibrary(
      name: "SystemSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "SystemPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "SystemPostgreSQL", "SystemSQLite", .product(name: "CoreData", package: "OpenCoreData"),
        .product(name: "CoreDataPostgreSQL", package: "OpenCoreData"),
        .product(name: "SwiftData", package: "OpenCoreData"),
      ],
      swiftSettings: Context.environment["COREDATA_OPTIMIZATION_SWITCHES"] == nil
        ? [] : [.define("OPTIMIZATION_SWITCHES")]),
  ]
)
