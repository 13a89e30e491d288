// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// A rehearsal of the migrations that the users of an app have before them.
///
/// Stores of every version are made and filled with values that keep the rules of the model, migrated to the current version, and
/// compared with an independent reference: what the two models say, worked out object by object. What mapping models with
/// expressions and policies do is not known to the reference; of their results it is checked that they open, that every object can
/// be read, and that the file is sound. Nothing that was given is changed.
public struct MigrationRehearsal: Sendable {
  /// The stores that are migrated.
  public enum Source: Sendable {
    /// A store of every version before the wanted one.
    ///
    /// With more than 31 versions the stores of the oldest and of the newest eight, and of those whose refusal is expected, are
    /// migrated to the wanted version. The others are migrated to the next version on their path, which leads on as that
    /// version's own path does.
    case everyVersion
    /// A store of each of these versions.
    case versions([String])
    /// Copies of these stores.
    case stores([URL])
  }

  /// How a migration ended.
  public enum Outcome: Hashable, Sendable {
    /// As the reference says.
    case same
    /// The store opens and can be read; a mapping model decides what it holds.
    case migrated
    /// It was refused, because the rows do not allow it, and the store is as it was. The text says why.
    case refused(String)
    /// There is no such store: no rows were found that keep the rules, for example. The text says why.
    case skipped(String)
    /// It failed, or the result differs. The texts say how.
    case failed([String])
  }

  /// A migration.
  public struct Case: Sendable {
    /// The version of the store.
    public let source: String
    /// The version that the store was to get: the wanted one, or the next one on its path, from which other stores go on.
    public let destination: String
    /// What the store holds: `plain`, `single`, `extreme`, or the name of a given store.
    public let content: String
    /// The versions on the way.
    public internal(set) var path: [String] = []
    /// Rows by entity, before and after.
    public internal(set) var rows: [String: MigrationReport.RowCounts] = [:]
    /// The time of the migration in seconds.
    public internal(set) var seconds = 0.0
    /// How it ended.
    public internal(set) var outcome = Outcome.same
    /// The store before the migration, where it was kept because the migration failed.
    public internal(set) var kept: URL?
    /// Whether the migration was refused, and this was expected.
    public internal(set) var isExpected = false

    init(_ source: String, _ destination: String, _ content: String) {
      (self.source, self.destination, self.content) = (source, destination, content)
    }

    /// Whether the migration failed.
    public var isFailure: Bool { if case .failed = outcome { true } else { false } }

    /// Whether the store had the wanted version already, so that there was nothing to migrate.
    public var isCurrent: Bool { path.count == 1 }

    /// Whether the store was migrated, with a result that is right as far as is known.
    var isReached: Bool { outcome == .same || outcome == .migrated }

    /// Whether the migration was refused.
    var isRefused: Bool { if case .refused = outcome { true } else { false } }

    /// `Model 2 -> Model 5, extreme`
    public var name: String { "\(source) -> \(destination), \(content)" }
  }

  /// The migrations, in order.
  public let cases: [Case]
  /// What the values began with; the same seed gives the same stores.
  public let seed: Int

  /// What makes the rehearsal no success, besides migrations that failed: versions that cannot be reached with rows, given
  /// stores that were refused or skipped, expected refusals that did not happen, and that nothing was rehearsed.
  public let problems: [Problem]
  /// The expected refusals that happened.
  package let happened: Set<ExpectedRefusals.Refusal>

  /// The migrations that failed.
  public var failures: [Case] { cases.filter(\.isFailure) }

  /// Whether something was rehearsed, and nothing failed, was refused against expectation, or was left out.
  public var isSuccess: Bool { failures.isEmpty && problems.isEmpty }

  /// Rehearses.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld` or `.momd` with the versions.
  ///   - version: the wanted version; nil for the current one.
  ///   - source: the stores.
  ///   - mappings: mapping models, or directories of them. Migration policies are classes of the running program.
  ///   - expected: versions whose stores should be refused.
  ///   - seed: what the values begin with.
  ///   - keptIn: a directory for the stores of failing migrations; nil to keep none.
  ///   - progress: called before each migration.
  /// - Throws: the errors of reading models and mapping models, also for a directory without mapping models, and of making files;
  ///   134060 for an unknown version. What a migration throws is its outcome.
  public init(
    modelsAt url: URL, to version: String? = nil, from source: Source = .everyVersion, mappings: [URL] = [],
    expecting expected: ExpectedRefusals = [], seed: Int = 1, keptIn: URL? = nil,
    progress: (Case) -> Void = { _ in }
  ) throws {
    try self.init(
      ModelVersions(contentsOf: url), to: version, from: source, mappings: mappings, expecting: expected, seed: seed,
      keptIn: keptIn, progress: progress)
  }

  /// Rehearses among versions that are known.
  ///
  /// - Throws: as `init(modelsAt:to:from:mappings:expecting:seed:keptIn:progress:)`.
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
