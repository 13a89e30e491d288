// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import Foundation
import SwiftData

/// Judges a migration plan without a store: what a container checks before it migrates, and the findings of
/// `coredata model lint` about every schema and step. Fails if there is an error among them.
///
/// ```swift
/// @Test func plan() throws {
///   try expectPlan(ShopMigrationPlan.self, lock: "Schemas/coredata.lock", allowing: [FindingAllowance(.attributeRemoved, entity: "Trip")])
/// }
/// ```
///
/// - Parameters:
///   - plan: the migration plan.
///   - path: the lock of the shipped versions that `coredata model lock Schemas/Shop.xcdatamodeld` writes, relative to
///     the directory of the test's file; nil if there is none.
///   - model: the name of the model in the lock; nil if it has one model.
///   - allowances: findings that are allowed.
/// - Returns: the findings that are not errors, as lines.
/// - Throws: `PlanFailure` with the errors; `SwiftDataError` for a plan that no container would use.
@discardableResult
public func expectPlan<Plan: SchemaMigrationPlan>(
  _ plan: Plan.Type, lock path: String? = nil, model: String? = nil, allowing allowances: FindingAllowances = [],
  testFile: StaticString = #filePath
) throws -> [String] {
  let warnings = try plan.validate()
  var options = ModelLint.Options()
  options.includesAllSteps = true
  options.allowances = allowances
  if let path {
    options.lock = try PlanLock.read(TestFile.url(path, beside: testFile), model)
  }
  let versions = try SchemaDocuments.versions(of: plan).map { version in
    ModelVersion(name: version.name, model: try NSManagedObjectModel(document: version.document))
  }
  let lint = try ModelLint(ModelVersions(versions), options)
  let names = try NewNames(plan)
  let entries = lint.entries.filter { !names.explains($0) }
  func line(_ entry: ModelLint.Entry) -> String {
    let finding = entry.finding
    let step = entry.source.map { "\($0) -> \(entry.version)" } ?? entry.version
    return "\(step)  \(finding.level.rawValue)  \(finding.code.rawValue)  "
      + (finding.place.isEmpty ? "" : "\(finding.place): ") + finding.message
  }
  let errors = entries.filter { $0.finding.level == .error }
  guard errors.isEmpty else { throw PlanFailure(plan: "\(plan)", findings: errors.map(line)) }
  return warnings + entries.map(line)
}

/// Properties whose `originalName` names nothing in the version before, so that they get the values of none: the way to
/// set a property of an old name in the code of a stage. In a step without code, it is a mistake.
private struct NewNames {
  private let plan: PlanRehearsal

  init(_ type: any SchemaMigrationPlan.Type) throws { plan = try PlanRehearsal(type) }

  /// Returns whether a finding is about such a property.
  func explains(_ entry: ModelLint.Entry) -> Bool {
    let finding = entry.finding
    guard finding.code == .unclearRename, finding.level != .error, let entity = finding.entity,
      let stage = plan.stages.first(where: { $0.hasCode && version($0.to) == entry.version }),
      let new = plan.versions[stage.to].model.entitiesByName[entity],
      let property = finding.property.flatMap({ new.propertiesByName[$0] }),
      let name = property.renamingIdentifier,
      let old = plan.versions[stage.from].model.entitiesByName[new.renamingIdentifier ?? entity]
    else { return false }
    return old.propertiesByName[name] == nil
  }

  private func version(_ position: Int) -> String { plan.versions[position].schema.version.description }
}

/// The error for a plan with findings that are errors.
public struct PlanFailure: LocalizedError, CustomStringConvertible, Sendable {
  /// The name of the plan.
  public let plan: String
  /// A line for each error: the versions, the code, the place, and what was found.
  public let findings: [String]

  /// The findings, and what to do.
  public var description: String {
    (["The migration plan \(plan) has \(findings.count == 1 ? "an error" : "\(findings.count) errors"):"]
      + findings.map { "  \($0)" } + ["coredata explain CODE says what a code means."]).joined(separator: "\n")
  }

  /// The description.
  public var errorDescription: String? { description }
}

private enum PlanLock {
  static func read(_ url: URL, _ model: String?) throws -> VersionLock {
    let name = try model ?? onlyModel(url)
    guard let lock = try VersionLock(contentsOf: url, model: name) else {
      throw SchemaFilesProblem(
        errorDescription: "\(url.path) has no model \(name). Write it with coredata model lock.")
    }
    return lock
  }

  private static func onlyModel(_ url: URL) throws -> String {
    struct Contents: Decodable {
      struct Model: Decodable {}
      var models: [String: Model]
    }
    let names: [String]
    do {
      names = try JSONDecoder().decode(Contents.self, from: Data(contentsOf: url)).models.keys.sorted()
    } catch {
      throw SchemaFilesProblem(
        errorDescription:
          "There is no lock of model versions at \(url.path): \(error.localizedDescription) Write it with "
          + "coredata model lock.")
    }
    guard names.count == 1 else {
      throw SchemaFilesProblem(
        errorDescription: "\(url.path) has the models \(names.joined(separator: ", ")). Name one of them: model: \"…\"."
      )
    }
    return names[0]
  }
}
