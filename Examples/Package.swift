// swift-tools-version:6.0
// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The programs of `make static`, linked with --static-swift-stdlib like shipped tools: the command line tool, the to-do
// example, and a program that saves and reads values of every type. In one package, so that the library is built once.
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
