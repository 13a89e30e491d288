// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// What `make static` builds: the command and the to-do example, linked with --static-swift-stdlib as tools are shipped,
// and a program that saves and reads values of every kind. In one package, so that the library is built once.
let package = Package(
  name: "Static",
  dependencies: [
    .package(name: "OpenCoreData", path: "..")
  ],
  targets: [
    .executableTarget(
      name: "done",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      path: "Done",
      exclude: ["README.md", "Done.sqlite", "demo.sh", "Package.swift"],
      sources: ["Sources"],
      resources: [.copy("Done.xcdatamodeld")]),
    .executableTarget(
      name: "roundtrip",
      dependencies: [.product(name: "CoreData", package: "OpenCoreData")],
      path: "Static",
      exclude: ["check.sh"],
      sources: ["Sources"]),
  ]
)
