// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Shelf",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "shelf",
      dependencies: [
        .product(name: "CoreData", package: "OpenCoreData"),
        .product(name: "CoreDataPostgreSQL", package: "OpenCoreData"),
      ],
      path: ".",
      exclude: ["README.md", "check.sh", "expected.txt"],
      sources: ["Sources"],
      resources: [.copy("Shelf.xcdatamodeld")])
  ]
)
