// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Splitting",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "splitting",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      path: ".",
      exclude: ["Contacts.mapping", "README.md", "check.sh", "expected.txt", "library.sh"],
      sources: ["Sources"],
      resources: [.copy("Contacts.xcdatamodeld")])
  ]
)
