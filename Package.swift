// swift-tools-version:6.0
// OpenCoreData: Core Data for every platform that Swift runs on.
// SPDX-License-Identifier: Apache-2.0

import CompilerPluginSupport
import PackageDescription

let package = Package(
  name: "OpenCoreData",
  products: [
    .library(name: "CoreData", targets: ["CoreData"]),
    .library(name: "CoreDataAnalysis", targets: ["CoreDataAnalysis"]),
    .library(name: "CoreDataTesting", targets: ["CoreDataTesting"]),
    .library(name: "CoreDataPostgreSQL", targets: ["CoreDataPostgreSQL"]),
    .library(name: "SwiftData", targets: ["SwiftData"]),
    .library(name: "SwiftDataTesting", targets: ["SwiftDataTesting"]),
    .executable(name: "coredata", targets: ["CoreDataCommand"]),
    .plugin(name: "CoreDataModels", targets: ["CoreDataModels"]),
    .plugin(name: "CoreDataTool", targets: ["CoreDataTool"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib",
      providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"]), .brew(["zlib"])]),
    .systemLibrary(name: "CSwiftRuntime"),
    .target(name: "CoreDataMistakes"),
    .target(name: "CoreDataTracing"),
    .target(
      name: "CoreDataFileSystem", dependencies: ["CoreDataMistakes"],
      // `make bench` sets the variable.
      swiftSettings: Context.environment["COREDATA_OPTIMIZATION_SWITCHES"] == nil
        ? [] : [.define("OPTIMIZATION_SWITCHES")]),
    .target(
      name: "CoreDataSQLite", dependencies: ["CoreDataFileSystem", "CoreDataMistakes", "CoreDataTracing", "CSQLite"]),
    .target(name: "CoreDataPredicates"),
    .target(
      name: "CoreDataModelFiles",
      dependencies: ["CoreDataFileSystem", "CoreDataMistakes", "CoreDataPredicates", "CZlib"]),
    // Splits Swift source code into tokens and declarations. Without dependencies, so that the macros build fast.
    .target(name: "SwiftSourceScanning"),
    .target(name: "CoreDataSourceCode", dependencies: ["CoreDataModelFiles", "SwiftSourceScanning"]),
    .target(
      name: "CoreDataStoreFiles",
      dependencies: [
        "CoreDataFileSystem", "CoreDataMistakes", "CoreDataModelFiles", "CoreDataPredicates", "CoreDataSQLite",
      ]),
    .target(
      name: "CoreDataMigration",
      dependencies: [
        "CoreDataFileSystem", "CoreDataModelFiles", "CoreDataPredicates", "CoreDataSQLite", "CoreDataStoreFiles",
      ]),
    .target(
      name: "CoreData",
      dependencies: [
        "CSwiftRuntime", "CoreDataFileSystem", "CoreDataMigration", "CoreDataMistakes", "CoreDataModelFiles",
        "CoreDataPredicates", "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTracing",
      ]
    ),
    .target(
      name: "CoreDataAnalysis",
      dependencies: [
        "CoreData", "CoreDataFileSystem", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPredicates",
        "CoreDataSQLite", "CoreDataStoreFiles",
      ]),
    .target(
      name: "CoreDataTesting",
      dependencies: [
        "CoreData", "CoreDataFileSystem", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPredicates",
        "CoreDataSQLite", "CoreDataStoreFiles",
      ]),
    // libpq is loaded when a store first needs it, so that nothing else needs it: neither a build nor a program.
    .target(name: "CPostgreSQL"),
    .target(name: "CoreDataPostgreSQLClient", dependencies: ["CoreDataMistakes", "CoreDataTracing", "CPostgreSQL"]),
    .target(
      name: "CoreDataPostgreSQL",
      dependencies: [
        "CoreData", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPostgreSQLClient", "CoreDataPredicates",
        "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTracing",
      ]),
    // Answers the compiler itself: swift-syntax would take minutes to build.
    .target(name: "SwiftDataMacroExpansion", dependencies: ["SwiftSourceScanning"]),
    .macro(name: "SwiftDataMacros", dependencies: ["SwiftDataMacroExpansion"]),
    .target(
      name: "SwiftData",
      dependencies: [
        "CoreData", "CoreDataFileSystem", "CoreDataMigration", "CoreDataMistakes", "CoreDataModelFiles",
        "CoreDataStoreFiles", "SwiftDataMacros",
      ]),
    .target(
      name: "SwiftDataTesting",
      dependencies: [
        "CoreData", "CoreDataAnalysis", "CoreDataFileSystem", "CoreDataMigration", "CoreDataModelFiles",
        "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTesting", "SwiftData",
      ]),

    .target(name: "CoreDataTerminal", dependencies: ["CoreDataMistakes"]),
    .executableTarget(
      name: "CoreDataCommand",
      dependencies: [
        "CoreData", "CoreDataAnalysis", "CoreDataFileSystem", "CoreDataMigration", "CoreDataMistakes",
        "CoreDataModelFiles", "CoreDataPostgreSQL", "CoreDataPostgreSQLClient", "CoreDataSourceCode",
        "CoreDataStoreFiles", "CoreDataTerminal", "CoreDataTesting", "SwiftSourceScanning",
      ]),

    // What the plug-in runs: it builds fast, since it needs neither SQLite nor `CoreData`.
    .executableTarget(
      name: "CoreDataModelsTool", dependencies: ["CoreDataModelFiles", "CoreDataSourceCode", "SwiftSourceScanning"]),
    .plugin(name: "CoreDataModels", capability: .buildTool(), dependencies: ["CoreDataModelsTool"]),

    // `swift package coredata`: the tool with the classes of the package that it runs in.
    .plugin(
      name: "CoreDataTool",
      capability: .command(
        intent: .custom(verb: "coredata", description: "Run the tool coredata with the classes of this package."))),

    .target(
      name: "CoreDataTestSupport",
      dependencies: ["CoreData", "CoreDataModelFiles", "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTesting"],
      path: "Tests/CoreDataTestSupport"),
    // A PostgreSQL server for tests: in a temporary directory, with a socket and no port.
    .target(name: "PostgreSQLTestServer", path: "Tests/PostgreSQLTestServer"),
    // `make servers-faults`: processes that use a store in a server while something goes wrong. No product holds it.
    .executableTarget(
      name: "ServerFaults",
      dependencies: [
        "CoreData", "CoreDataPostgreSQL", "CoreDataPostgreSQLClient", "CoreDataTestSupport", "PostgreSQLTestServer",
      ],
      path: "Tests/Servers", exclude: ["README.md", "run.sh"]),
    .testTarget(
      name: "CoreDataPostgreSQLClientTests",
      dependencies: ["CoreDataPostgreSQLClient", "CoreDataTestSupport", "PostgreSQLTestServer"]),
    .testTarget(
      name: "CoreDataPostgreSQLTests",
      dependencies: [
        "CoreData", "CoreDataAnalysis", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPostgreSQL",
        "CoreDataPostgreSQLClient", "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTestSupport", "CoreDataTracing",
        "PostgreSQLTestServer",
      ]),
    .testTarget(
      name: "CoreDataTestingTests",
      dependencies: [
        "CoreData", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPredicates", "CoreDataSQLite",
        "CoreDataTestSupport", "CoreDataTesting",
      ]),
    .testTarget(name: "CoreDataMistakesTests", dependencies: ["CoreDataMistakes", "CoreDataTestSupport"]),
    .testTarget(name: "CoreDataFileSystemTests", dependencies: ["CoreDataFileSystem", "CoreDataTestSupport"]),
    .testTarget(
      name: "CoreDataSQLiteTests",
      dependencies: ["CSQLite", "CoreDataFileSystem", "CoreDataSQLite", "CoreDataTestSupport"]),
    .testTarget(name: "CoreDataPredicatesTests", dependencies: ["CoreDataPredicates", "CoreDataTestSupport"]),
    .testTarget(
      name: "CoreDataModelFilesTests",
      dependencies: ["CoreDataModelFiles", "CoreDataStoreFiles", "CoreDataTestSupport", "CSQLite"]),
    .testTarget(
      name: "CoreDataSourceCodeTests",
      dependencies: ["CoreDataModelFiles", "CoreDataSourceCode", "CoreDataTestSupport", "SwiftSourceScanning"]),
    .testTarget(name: "SwiftSourceScanningTests", dependencies: ["SwiftSourceScanning"]),
    .testTarget(name: "SwiftDataMacroExpansionTests", dependencies: ["SwiftDataMacroExpansion"]),
    .testTarget(
      name: "SwiftDataTests",
      dependencies: [
        "CoreData", "CoreDataAnalysis", "CoreDataModelFiles", "CoreDataPostgreSQL", "CoreDataSourceCode",
        "CoreDataTestSupport", "CoreDataTesting", "PostgreSQLTestServer", "SwiftData", "SwiftDataTesting",
      ]),
    // Calls of the file system that fail when a test wants it.
    .target(name: "FaultInjection", path: "Tests/FaultInjection"),
    .testTarget(
      name: "CoreDataTests",
      dependencies: [
        "CSQLite", "CoreData", "CoreDataAnalysis", "CoreDataFileSystem", "CoreDataMigration", "CoreDataPostgreSQL",
        "CoreDataStoreFiles", "CoreDataTestSupport", "CoreDataTesting", "CoreDataTracing", "FaultInjection",
        "PostgreSQLTestServer",
      ],
      resources: [
        .copy("Resources/Books.xcdatamodeld"), .copy("Resources/QualifiedElements.sqlite"),
        .copy("Resources/Readers.xcdatamodeld"),
      ]),
    .testTarget(
      name: "CoreDataAnalysisTests",
      dependencies: [
        "CSQLite", "CoreData", "CoreDataAnalysis", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPredicates",
        "CoreDataSQLite", "CoreDataStoreFiles", "CoreDataTestSupport",
      ]),
    // `make fuzz`: hostile files for everything that reads files. No product holds it.
    .target(name: "FuzzingSupport", path: "Tests/FuzzingSupport"),
    .executableTarget(
      name: "Fuzzing",
      dependencies: [
        "CSQLite", "CoreData", "CoreDataAnalysis", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPredicates",
        "CoreDataSourceCode", "CoreDataStoreFiles", "CoreDataTestSupport", "FuzzingSupport", "SwiftSourceScanning",
      ],
      path: "Tests/Fuzzing", exclude: ["Corpus", "README.md"]),
    // The sources of the package in `Conformance`, which builds them against Apple's framework. Here nothing has to be
    // compiled twice for them; its manifest says why their rules are Swift 5's. No product holds the program.
    .testTarget(
      name: "ConformanceTests", dependencies: ["CoreData"], path: "Conformance/Tests/ConformanceTests",
      exclude: ["Figures/version-hashes.txt", "Models"], swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "ConformanceExchange", dependencies: ["CoreData"], path: "Conformance/Sources/exchange",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "CoreDataTerminalTests", dependencies: ["CoreDataTerminal"]),
    .testTarget(
      name: "CoreDataCommandTests",
      dependencies: [
        "CSQLite", "CoreData", "CoreDataCommand", "CoreDataMigration", "CoreDataModelFiles", "CoreDataPostgreSQLClient",
        "CoreDataSQLite", "CoreDataSourceCode", "CoreDataStoreFiles", "CoreDataTerminal", "CoreDataTestSupport",
        "PostgreSQLTestServer",
      ],
      exclude: ["Transcripts"]),
  ]
)
