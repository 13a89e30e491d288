// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTesting
import Foundation
import SwiftData

/// Migrates stores through a plan, stage by stage, and checks what each stage leaves.
///
/// A stage without code must give what an independent computation gives from the two schemas. A stage with code may
/// change any value, but must keep the rows. After each stage, every property of every row must be readable with the
/// types of its schema, and the file must be sound.
///
/// ```swift
/// @Test func migrations() throws {
///   try expectMigration(of: ShopMigrationPlan.self, from: .everyVersion)
///   try expectMigration(of: ShopMigrationPlan.self, from: .stores(in: "Stores"))
/// }
/// ```
///
/// - Parameters:
///   - plan: the migration plan.
///   - source: the stores.
///   - allowedLosses: the names of entities whose rows may be lost.
///   - seed: the seed of the values of sample rows; the same seed gives the same stores.
/// - Returns: the cases.
/// - Throws: `MigrationFailure` with an issue for each finding.
@discardableResult
public func expectMigration<Plan: SchemaMigrationPlan>(
  of plan: Plan.Type, from source: MigrationSource = .everyVersion, allowingLossOf allowedLosses: Set<String> = [],
  seed: Int = 1
) throws -> [MigrationCase] {
  let cases = MigrationCase.all(of: plan, from: source, allowingLossOf: allowedLosses, seed: seed)
  var issues: [MigrationIssue] = []
  var kept: [URL] = []
  for item in cases {
    let result = CaseRun(item).run()
    issues += result.issues
    kept += result.kept.map { [$0] } ?? []
  }
  guard issues.isEmpty else { throw MigrationFailure(issues: issues, kept: kept) }
  return cases
}

/// Migrates the store of a case through its stage, and checks what the stage leaves, as `expectMigration(of:from:)` does.
///
/// - Throws: `MigrationFailure` with an issue for each finding.
public func expectMigration(_ item: MigrationCase) throws {
  let result = CaseRun(item).run()
  guard result.issues.isEmpty else {
    throw MigrationFailure(issues: result.issues, kept: result.kept.map { [$0] } ?? [])
  }
}

/// The run of a case.
private struct CaseRun {
  private let item: MigrationCase

  init(_ item: MigrationCase) { self.item = item }

  func run() -> (issues: [MigrationIssue], kept: URL?) {
    do {
      if case .failure(let issue) = item.origin { return ([issue], nil) }
      let plan = try PlanRehearsal(item.plan)
      let store: TestStore
      do {
        store = try self.store(plan)
      } catch {
        return ([issue("The sample rows could not be made: \(words(of: error)) Test the stage with a store.")], nil)
      }
      defer { store.remove() }
      guard let stage = item.origin.stage.map({ plan.stages[$0] }) else {
        return (try unreadable(store, plan.versions[plan.versions.count - 1]), nil)
      }
      return try check(stage, store, plan)
    } catch {
      return ([issue(words(of: error), error)], nil)
    }
  }

  private func store(_ plan: PlanRehearsal) throws -> TestStore {
    switch item.origin {
    case .made(let version, let kind, _): try TestStore.made(plan.versions[version], kind, seed: item.seed)
    case .file(let url, _): try TestStore.copy(of: url)
    case .failure(let issue): throw MigrationFailure(issues: [issue], kept: [])
    }
  }

  private func check(
    _ stage: PlanRehearsal.Stage, _ store: TestStore, _ plan: PlanRehearsal
  ) throws -> (issues: [MigrationIssue], kept: URL?) {
    let (old, new) = (plan.versions[stage.from], plan.versions[stage.to])
    if try plan.position(ofStoreAt: store.url) < stage.from { try plan.migrate(storeAt: store.url, to: stage.from) }
    let before = try image(store, old)
    let kept = try store.keep(as: "\(item)")
    var issues: [MigrationIssue] = []
    do {
      try plan.migrate(storeAt: store.url, to: stage.to)
      let after = try image(store, new)
      issues = StageComparison(stage, old, new).issues(before, after, allowing: item.allowedLosses).map(placed)
      issues += try unreadable(store, new) + unsound(store)
    } catch {
      issues = [issue(words(of: error), error)]
    }
    guard issues.isEmpty else { return (issues, kept) }
    try FileManager.default.removeItem(at: kept)
    return ([], nil)
  }

  private func image(_ store: TestStore, _ version: PlanRehearsal.Version) throws -> StoreImage {
    try store.withContext(version) { try StoreImage($0, version.model.document) }
  }

  private func unreadable(_ store: TestStore, _ version: PlanRehearsal.Version) throws -> [MigrationIssue] {
    let container = try ModelContainer(for: version.schema, configurations: [ModelConfiguration(url: store.url)])
    return try ModelContext(container).unreadableValues().map { value in
      MigrationIssue(
        stage: item.stage, store: item.store, entity: value.entity, property: value.property,
        text:
          "'\(value.entity).\(value.property)' of \(value.row) \(value.reason), so that \(version.name) cannot read it."
      )
    }
  }

  private func unsound(_ store: TestStore) throws -> [MigrationIssue] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let lines = try connection.rows("PRAGMA integrity_check(20)").compactMap { $0[0].text }
    try connection.close()
    return lines == ["ok"] ? [] : lines.map { issue("The file is damaged: \($0)") }
  }

  private func placed(_ issue: MigrationIssue) -> MigrationIssue {
    var issue = issue
    (issue.stage, issue.store) = (item.stage, item.store)
    return issue
  }

  private func issue(_ text: String, _ error: (any Error)? = nil) -> MigrationIssue {
    let known = error as? SwiftDataError
    return MigrationIssue(
      stage: item.stage, store: item.store, entity: known?.entity, property: known?.property, text: text)
  }

  private func words(of error: any Error) -> String { MigrationIssue.words(of: error) }
}

extension MigrationCase.Origin {
  /// The position of the stage that is checked; nil if there is none.
  fileprivate var stage: Int? {
    switch self {
    case .made(_, _, let stage): stage
    case .file(_, let stage): stage
    case .failure: nil
    }
  }
}

/// The comparison of a store before and after a stage.
private struct StageComparison {
  private let stage: PlanRehearsal.Stage
  private let old: PlanRehearsal.Version
  private let new: PlanRehearsal.Version
  private let reference: MigrationReference

  init(_ stage: PlanRehearsal.Stage, _ old: PlanRehearsal.Version, _ new: PlanRehearsal.Version) {
    (self.stage, self.old, self.new) = (stage, old, new)
    reference = MigrationReference(from: old.model.document, to: new.model.document)
  }

  /// Returns the issues, without the names of the stage and the store.
  func issues(_ before: StoreImage, _ after: StoreImage, allowing losses: Set<String>) -> [MigrationIssue] {
    // If hierarchies are merged, the keys of their rows change.
    let moved = before.moved(reference.distances(from: before, to: after), in: old.model.document)
    let lost = self.lost(moved, after).filter { !losses.contains($0.entity) }
    guard !stage.hasCode else { return lost.map(issue) }
    let removed = lost.filter { new.model.entitiesByName[$0.entity] == nil }.map(issue)
    let differences = after.differences(from: reference.expected(after: moved).image)
    return removed + differences.map(issue)
  }

  /// The rows that are not there after the stage.
  private func lost(_ before: StoreImage, _ after: StoreImage) -> [StoreImage.Key] {
    before.objects.keys.filter { after.objects[$0] == nil }.sorted()
  }

  private func issue(_ key: StoreImage.Key) -> MigrationIssue {
    MigrationIssue(
      stage: nil, store: "", entity: key.entity,
      text: "The row \(key) is lost. If this is intended, allow it: allowingLossOf: [\"\(key.entity)\"].")
  }

  /// Makes an issue of a difference such as `Trip/p3.name is text instead of other`.
  private func issue(_ difference: String) -> MigrationIssue {
    let place = difference.prefix { $0 != " " }
    let entity = place.prefix { $0 != "/" }
    let property = place.drop { $0 != "." }.dropFirst()
    return MigrationIssue(
      stage: nil, store: "", entity: String(entity), property: property.isEmpty ? nil : String(property),
      text: difference + ".")
  }
}
