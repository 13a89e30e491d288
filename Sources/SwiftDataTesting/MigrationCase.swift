// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTesting
import Foundation
import SwiftData

/// The stores that a migration plan is tested with.
public enum MigrationSource: Sendable {
  /// Stores of every schema before the last, made with sample rows.
  ///
  /// The values are such as the model's types can read. Code of a stage that expects certain texts or numbers is better
  /// tested with stores of the app.
  case everyVersion
  /// Copies of these stores, such as those of shipped versions of the app.
  case files([URL])

  /// Copies of all stores in a directory: files with the extension `store`, `sqlite`, `sqlite3` or `db`.
  public static func stores(in directory: URL) -> MigrationSource {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    // A directory that is missing or empty fails as a test without stores, with its path.
    let files = names.filter { endings.contains(($0 as NSString).pathExtension.lowercased()) }.sorted()
    return .files(files.isEmpty ? [directory] : files.map { directory.appendingPathComponent($0) })
  }

  /// Copies of all stores in a directory beside the test's file.
  public static func stores(in directory: String, testFile: StaticString = #filePath) -> MigrationSource {
    stores(in: TestFile.url(directory, beside: testFile))
  }

  private static let endings: Set<String> = ["store", "sqlite", "sqlite3", "db"]
}

/// A stage of a migration plan, and a store that goes through it: an argument for a parametrised test.
///
/// ```swift
/// @Test(arguments: MigrationCase.all(of: ShopMigrationPlan.self))
/// func migrates(_ item: MigrationCase) throws {
///   try expectMigration(item)
/// }
/// ```
public struct MigrationCase: Sendable, Identifiable, CustomStringConvertible {
  /// The name of the stage, such as `SchemaV1 to SchemaV2`; nil for a store that has the last version.
  public let stage: String?
  /// What the store is: the name of its file, or its version and the kind of sample rows.
  public let store: String
  let origin: Origin

  enum Origin: Sendable {
    /// A store made at a version, and the position of the stage that is checked.
    case made(version: Int, ModelFilling.Kind, stage: Int)
    /// A store that exists, and the position of the stage; nil if it has the last version.
    case file(URL, stage: Int?)
    /// A case that fails: the plan is not valid, or a store is not of the plan.
    case failure(MigrationIssue)
  }

  /// The plan.
  let plan: any SchemaMigrationPlan.Type
  /// The entities whose rows may be lost.
  let allowedLosses: Set<String>
  let seed: Int

  /// The stage and the store.
  public var id: String { description }

  /// The stage and the store, such as `SchemaV1 to SchemaV2, v1.store`.
  public var description: String { [stage, store].compactMap { $0 }.joined(separator: ", ") }

  /// Returns the cases of a plan, one for each stage and store.
  ///
  /// For `everyVersion`, each stage gets stores made at its old version, and one of the first version, which goes through
  /// the earlier stages before. A store of `stores(in:)` goes through all stages from its version on. A plan that is not
  /// valid, and a store that is not of the plan, are cases that fail.
  ///
  /// - Parameters:
  ///   - plan: the migration plan.
  ///   - source: the stores.
  ///   - allowedLosses: the names of entities whose rows may be lost.
  ///   - seed: the seed of the values of sample rows; the same seed gives the same stores.
  public static func all<Plan: SchemaMigrationPlan>(
    of plan: Plan.Type, from source: MigrationSource = .everyVersion, allowingLossOf allowedLosses: Set<String> = [],
    seed: Int = 1
  ) -> [MigrationCase] {
    func item(_ stage: String?, _ store: String, _ origin: Origin) -> MigrationCase {
      MigrationCase(stage: stage, store: store, origin: origin, plan: plan, allowedLosses: allowedLosses, seed: seed)
    }
    func failed(_ store: String, _ text: String) -> MigrationCase {
      item(nil, store, .failure(MigrationIssue(stage: nil, store: store, text: text)))
    }
    let rehearsal: PlanRehearsal
    do {
      rehearsal = try PlanRehearsal(plan)
    } catch {
      return [failed("\(plan)", MigrationIssue.words(of: error))]
    }
    switch source {
    case .everyVersion:
      guard !rehearsal.stages.isEmpty else { return [failed("\(plan)", "The plan has no stage to test.")] }
      return rehearsal.stages.indices.flatMap { position -> [MigrationCase] in
        let stage = rehearsal.stages[position]
        let kinds = rehearsal.kinds(from: position)
        let own = kinds.map { kind in
          item(
            stage.label, "\(rehearsal.versions[stage.from].name) \(kind)",
            .made(version: stage.from, kind, stage: position))
        }
        guard stage.from > 0 else { return own }
        return own + [
          item(stage.label, "\(rehearsal.versions[0].name) plain", .made(version: 0, .plain, stage: position))
        ]
      }
    case .files(let urls):
      guard !urls.isEmpty else { return [failed("\(plan)", "There are no stores to test the plan with.")] }
      return urls.flatMap { url -> [MigrationCase] in
        do {
          let version = try TestStore.copy(of: url).with { try rehearsal.position(ofStoreAt: $0) }
          let stages = rehearsal.stages.indices.filter { rehearsal.stages[$0].from >= version }
          guard !stages.isEmpty else { return [item(nil, url.lastPathComponent, .file(url, stage: nil))] }
          return stages.map { item(rehearsal.stages[$0].label, url.lastPathComponent, .file(url, stage: $0)) }
        } catch {
          return [failed(url.lastPathComponent, "\(url.path): \(MigrationIssue.words(of: error))")]
        }
      }
    }
  }
}

extension PlanRehearsal {
  /// The kinds of sample rows for a stage. Extreme values could make code of the app trap, which is not what is tested.
  fileprivate func kinds(from position: Int) -> [ModelFilling.Kind] {
    stages[position].hasCode ? [.plain, .single] : [.plain, .single, .extreme]
  }
}

/// What is wrong with a migration.
public struct MigrationIssue: Hashable, Sendable, CustomStringConvertible {
  /// The name of the stage; nil for a plan or store that no stage could be run with.
  public var stage: String?
  /// What the store is.
  public var store: String
  /// The name of the entity; nil if the issue concerns none.
  public var entity: String?
  /// The name of the property; nil if the issue concerns none.
  public var property: String?
  /// What was found, and what was expected.
  public var text: String

  /// The stage, the store, and what was found.
  public var description: String {
    "\([stage, store].compactMap { $0 }.joined(separator: ", ")): \(text)"
  }

  /// Returns what an error says.
  static func words(of error: any Error) -> String {
    (error as? SwiftDataError)?.errorDescription ?? (error as NSError).localizedDescription
  }
}

/// The issues of one or more cases.
public struct MigrationFailure: LocalizedError, CustomStringConvertible, Sendable {
  /// The issues, in the order of the cases.
  public let issues: [MigrationIssue]
  /// The copies of the stores before the stages that failed.
  public let kept: [URL]

  /// A line for each issue, and the kept stores.
  public var description: String {
    let shown = issues.prefix(20).map(\.description)
    let rest = issues.count > 20 ? ["There are \(issues.count - 20) more issues."] : []
    return (shown + rest + kept.map { "The store is kept: \($0.path)" }).joined(separator: "\n")
  }

  /// The description.
  public var errorDescription: String? { description }
}
