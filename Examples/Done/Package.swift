// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Done",
  dependencies: [
    .package(name: "OpenCoreData", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "done",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      path: ".",
      exclude: ["README.md", "Done.sqlite", "demo.sh"],
      sources: ["Sources"],
      resources: [.copy("Done.xcdatamodeld")])
  ]
)
