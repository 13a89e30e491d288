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
  let versions = try SchemaFiles.versions(of: plan)
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
  try SchemaFiles.write(SchemaFiles.versions(of: plan), to: url)
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

/// The schemas of a plan as versions of a model.
enum SchemaFiles {
  static let variable = "SWIFTDATA_WRITE_SCHEMAS"

  /// Returns the versions of a plan, in its order.
  static func versions(of plan: any SchemaMigrationPlan.Type) throws -> [ModelBundle.Version] {
    try plan.schemas.map { type in
      let document = try document("\(type)") { Schema(versionedSchema: type) }
      return ModelBundle.Version(type.versionIdentifier.description, document)
    }
  }

  /// Returns the model of a schema, which is made twice to find initial values that are never the same.
  static func document(_ name: String, _ make: () -> Schema) throws -> ModelDocument {
    let schema = make()
    if let issue = schema.issue { throw issue }
    guard let model = NSManagedObjectModel.makeManagedObjectModel(for: schema),
      let other = NSManagedObjectModel.makeManagedObjectModel(for: make())
    else {
      throw SchemaFilesProblem(
        errorDescription:
          "The schema \(name) has an initial value that cannot be stored: a container with it says which.")
    }
    return SteadyValues(model.document).document(unlike: other.document)
  }

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

/// A model whose default values are the same whenever it is made.
private struct SteadyValues {
  private let model: ModelDocument

  init(_ model: ModelDocument) { self.model = model }

  /// Returns the model with fixed values in place of those that are different in a second model of the same schema.
  func document(unlike other: ModelDocument) -> ModelDocument {
    var result = model
    for (position, entity) in model.entities.enumerated() {
      let twin = other.entities.first { $0.name == entity.name }
      result.entities[position].attributes = entity.attributes.map { attribute in
        steady(attribute, twin?.attributes.first { $0.name == attribute.name })
      }
    }
    return result
  }

  private func steady(_ attribute: AttributeDocument, _ other: AttributeDocument?) -> AttributeDocument {
    var attribute = attribute
    attribute.elements = attribute.elements.map { element in
      steady(element, other?.elements.first { $0.name == element.name })
    }
    guard let value = attribute.defaultValue else { return attribute }
    let isSame = other?.defaultValue == value
    switch (attribute.kind, value) {
    case (.date, _): attribute.defaultValue = .date(Date(timeIntervalSinceReferenceDate: 0))
    case (.uuid, _): attribute.defaultValue = .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    case (.composite, _):
      // The elements have the parts.
      attribute.defaultValue = nil
    case (.string, _) where !isSame: attribute.defaultValue = .string("")
    case (.binaryData, .data(let data)): attribute.defaultValue = .data(isSame ? sorted(data) : Data())
    case (.transformable, _) where !isSame: attribute.defaultValue = nil
    case (_, .integer) where !isSame: attribute.defaultValue = .integer(0)
    case (_, .real) where !isSame: attribute.defaultValue = .real(0)
    case (_, .decimal) where !isSame: attribute.defaultValue = .decimal(0)
    default: break
    }
    return attribute
  }

  /// Returns JSON with its keys in order, which is another one in every process.
  private func sorted(_ data: Data) -> Data {
    // Data that is no JSON is left as it is.
    guard let value = try? JSONSerialization.jsonObject(with: data),
      let text = try? JSONSerialization.data(withJSONObject: value, options: .sortedKeys)
    else { return data }
    return text
  }
}
