// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// A rehearsal of the migrations that an app's users will run.
///
/// Stores of every version are created, filled with values that satisfy the model's rules, migrated to the current
/// version, and compared with an independent reference, which is computed object by object from the two models. The
/// reference does not know the results of mapping models with expressions and policies. Such stores are only checked
/// for opening, for reading every object, and for damage to the file. Given stores are not changed.
public struct MigrationRehearsal: Sendable {
  /// The stores that are migrated.
  public enum Source: Sendable {
    /// A store of every version before the wanted one.
    ///
    /// With more than 31 versions, only the stores of the oldest version, of the newest eight, and of those whose
    /// refusal is expected are migrated to the wanted version. The others are migrated to the next version on their
    /// path, which continues like that version's own path.
    case everyVersion
    /// A store of each of these versions.
    case versions([String])
    /// Copies of these stores.
    case stores([URL])
  }

  /// The outcome of a migration.
  public enum Outcome: Hashable, Sendable {
    /// The store equals the reference.
    case same
    /// The store opens and can be read; its content is determined by a mapping model.
    case migrated
    /// The migration was refused because of the rows, and the store is unchanged. The text gives the reason.
    case refused(String)
    /// There is no such store, for example because no rows were found that satisfy the rules. The text gives the
    /// reason.
    case skipped(String)
    /// The migration failed, or the result differs. The texts describe the differences.
    case failed([String])
  }

  /// A migration.
  public struct Case: Sendable {
    /// The version of the store.
    public let source: String
    /// The destination version of the store: the wanted one, or the next one on its path, from which other stores
    /// continue.
    public let destination: String
    /// The content of the store: `plain`, `single`, `extreme`, or the name of a given store.
    public let content: String
    /// The versions on the path.
    public internal(set) var path: [String] = []
    /// The number of rows by entity, before and after.
    public internal(set) var rows: [String: MigrationReport.RowCounts] = [:]
    /// The duration of the migration in seconds.
    public internal(set) var seconds = 0.0
    /// The outcome.
    public internal(set) var outcome = Outcome.same
    /// The store before the migration; nil unless it was kept because the migration failed.
    public internal(set) var kept: URL?
    /// Whether the migration was refused as expected.
    public internal(set) var isExpected = false

    init(_ source: String, _ destination: String, _ content: String) {
      (self.source, self.destination, self.content) = (source, destination, content)
    }

    /// Whether the migration failed.
    public var isFailure: Bool { if case .failed = outcome { true } else { false } }

    /// Whether the store already had the wanted version, so that there was nothing to migrate.
    public var isCurrent: Bool { path.count == 1 }

    /// Whether the store was migrated, with a correct result as far as is known.
    var isReached: Bool { outcome == .same || outcome == .migrated }

    /// Whether the migration was refused.
    var isRefused: Bool { if case .refused = outcome { true } else { false } }

    /// The name of the case, such as `Model 2 -> Model 5, extreme`.
    public var name: String { "\(source) -> \(destination), \(content)" }
  }

  /// The migrations, in order.
  public let cases: [Case]
  /// The seed of the values; the same seed gives the same stores.
  public let seed: Int

  /// The reasons the rehearsal is unsuccessful, besides failed migrations: versions that cannot be reached with rows,
  /// given stores that were refused or skipped, expected refusals that did not happen, or nothing to rehearse.
  public let problems: [Problem]
  /// The expected refusals that happened.
  package let happened: Set<ExpectedRefusals.Refusal>

  /// The migrations that failed.
  public var failures: [Case] { cases.filter(\.isFailure) }

  /// Whether something was rehearsed, and nothing failed, was refused unexpectedly, or was omitted.
  public var isSuccess: Bool { failures.isEmpty && problems.isEmpty }

  /// Runs a rehearsal.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld` or `.momd` with the versions.
  ///   - version: the wanted version; nil for the current one.
  ///   - source: the stores.
  ///   - mappings: mapping models, or directories of them. Migration policies are classes of the running program.
  ///   - expected: versions whose stores should be refused.
  ///   - seed: the seed of the values.
  ///   - keptIn: a directory for the stores of failing migrations; nil to keep none.
  ///   - progress: called before each migration.
  /// - Throws: the errors of reading models and mapping models, also for a directory without mapping models, and of
  ///   creating files; 134060 for an unknown version. An error of a migration is its outcome.
  public init(
    modelsAt url: URL, to version: String? = nil, from source: Source = .everyVersion, mappings: [URL] = [],
    expecting expected: ExpectedRefusals = [], seed: Int = 1, keptIn: URL? = nil,
    progress: (Case) -> Void = { _ in }
  ) throws {
    try self.init(
      ModelVersions(contentsOf: url), to: version, from: source, mappings: mappings, expecting: expected, seed: seed,
      keptIn: keptIn, progress: progress)
  }

  /// Runs a rehearsal with versions that have been read.
  ///
  /// - Throws: the same errors as `init(modelsAt:to:from:mappings:expecting:seed:keptIn:progress:)`.
  package init(
    _ known: ModelVersions, to version: String?, from source: Source, mappings: [URL],
    expecting expected: ExpectedRefusals, seed: Int, keptIn: URL?, progress: (Case) -> Void
  ) throws {
    _ = try MappingFile.files(at: mappings, requiresSome: true)
    let stage = try RehearsalStage(known, to: version, mappings: mappings, seed: seed, keptIn: keptIn)
    defer { stage.clear() }
    self.seed = seed
    for name in expected.items.flatMap({ [$0.source, $0.destination].compactMap { $0 } }) {
      _ = try known.version(named: name)
    }
    var cases: [Case] = []
    var (areGiven, unreadable): (Bool, [String]) = (false, [])
    var blocked: [String: String] = [:]
    switch source {
    case .everyVersion:
      unreadable = stage.unreadable
      (cases, blocked) = try stage.rehearseAll(expected, progress)
    case .versions(let wanted):
      for name in try wanted.map({ try known.version(named: $0).name }) {
        cases += stage.rehearse(name, to: stage.destination, progress)
      }
    case .stores(let urls):
      areGiven = true
      for url in urls { cases.append(stage.rehearse(url, progress)) }
    }
    var judge = RehearsalJudge(
      to: stage.destination, areGiven: areGiven, expected: expected, unreadable: unreadable, blocked: blocked)
    judge.judge(&cases)
    self.cases = cases
    (problems, happened) = (judge.problems, judge.happened)
  }
}
