// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import Foundation
import SwiftData

/// Compares the schemas of a plan with the files in which they are committed: a model with a version for each schema,
/// named by the version, such as `1.0.0`. The tool's commands know these files: `coredata model diff`, `graph`, `lint`,
/// `lock` and `migrate check`.
///
/// ```swift
/// @Test func schemas() throws {
///   try expectSchemas(of: ShopMigrationPlan.self, match: "Schemas/Shop.xcdatamodeld")
/// }
/// ```
///
/// The files are written, and the test passes, if the environment variable `SWIFTDATA_WRITE_SCHEMAS` is 1.
///
/// Initial values of dates and UUIDs, which are as a rule those of the moment, are written as 2001-01-01 and zeros.
///
/// - Parameters:
///   - plan: the migration plan.
///   - path: the location of the `.xcdatamodeld`, relative to the directory of the test's file.
/// - Throws: `SchemaFilesFailure` with what differs; the problem of a schema that cannot be stored.
public func expectSchemas<Plan: SchemaMigrationPlan>(
  of plan: Plan.Type, match path: String, testFile: StaticString = #filePath
) throws {
  let url = TestFile.url(path, beside: testFile)
  let versions = try SchemaDocuments.versions(of: plan)
  if ProcessInfo.processInfo.environment[SchemaFiles.variable] == "1" {
    return try SchemaFiles.write(versions, to: url)
  }
  let differences = try SchemaFiles.differences(versions, url)
  guard differences.isEmpty else { throw SchemaFilesFailure(plan: "\(plan)", url: url, differences: differences) }
}

/// Writes the schemas of a plan as an `.xcdatamodeld`, which replaces an existing one.
///
/// - Throws: the problem of a schema that cannot be stored; errors of writing.
public func writeSchemas<Plan: SchemaMigrationPlan>(of plan: Plan.Type, to url: URL) throws {
  try SchemaFiles.write(SchemaDocuments.versions(of: plan), to: url)
}

/// The error for schemas that differ from their files.
public struct SchemaFilesFailure: LocalizedError, CustomStringConvertible, Sendable {
  /// The name of the plan.
  public let plan: String
  /// The location of the files.
  public let url: URL
  /// Sentences about the versions that differ, each with lines for the entities and properties.
  public let differences: [String]

  /// What differs, and what to do.
  public var description: String {
    (["The schemas of \(plan) differ from \(url.path)."] + differences + [
      "If the change is intended and no store of the version exists, write the files again: run this test with the "
        + "environment variable \(SchemaFiles.variable)=1."
    ]).joined(separator: "\n")
  }

  /// The description.
  public var errorDescription: String? { description }
}

/// The schemas of a plan as files.
enum SchemaFiles {
  static let variable = "SWIFTDATA_WRITE_SCHEMAS"

  static func write(_ versions: [ModelBundle.Version], to url: URL) throws {
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard let last = versions.last else {
      throw SchemaFilesProblem(errorDescription: "The migration plan has no schemas.")
    }
    try ModelBundle.writeSource(versions, current: last.name, to: url)
  }

  /// Returns what is different between the versions of a plan and the files.
  static func differences(_ versions: [ModelBundle.Version], _ url: URL) throws -> [String] {
    guard FileManager.default.fileExists(atPath: url.path) else {
      return ["The files do not exist. They are written if the test runs with \(variable)=1; commit them."]
    }
    let bundle = try ModelBundle(contentsOf: url)
    if let bad = bundle.unreadable.first { throw bad.error }
    var differences: [String] = []
    for name in bundle.names where !versions.contains(where: { $0.name == name }) {
      differences.append("The files have a version \(name), which the plan lacks: its stores could not be opened.")
    }
    for version in versions {
      guard bundle.names.contains(version.name) else {
        differences.append("The version \(version.name) is new: the files lack it.")
        continue
      }
      let found = ModelDifference(from: try bundle.document(named: version.name), to: version.document)
      guard !found.isEmpty else { continue }
      let effect =
        found.changesVersionHashes
        ? "Stores that were written before could not be opened any more."
        : "Stores that were written before can still be opened."
      let lines = found.changes.map { change in
        let place = [change.entity, change.property].compactMap { $0 }.joined(separator: ".")
        return "  \(place): \(change.sentence)"
      }
      differences.append((["The version \(version.name) was changed. \(effect)"] + lines).joined(separator: "\n"))
    }
    if differences.isEmpty, bundle.currentVersionName != versions.last?.name {
      differences.append("The files name \(bundle.currentVersionName ?? "no version") as the current version.")
    }
    return differences
  }
}

/// A plan that cannot be written as files.
struct SchemaFilesProblem: LocalizedError {
  let errorDescription: String?
}
