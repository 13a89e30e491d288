// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A kind of input.
enum FuzzKind: String, CaseIterable {
  /// An `.xcdatamodel`.
  case source
  /// A `.mom`, an `.omo` or the archive of a store's model cache.
  case compiled
  /// A `.momd` or `.xcdatamodeld` with its property lists.
  case bundle
  /// A `.cdm` or an `.xcmappingmodel`.
  case mapping
  /// The format of a predicate or an expression.
  case predicate
  /// A store's metadata, its model cache, a transformable value.
  case archive
  /// A store: its pages, cells and schema, its log and rollback journal.
  case store
  /// A store to migrate.
  case migration
  /// The files beside a store: the journal of unfinished work, notes, hot journals.
  case journal
  /// The command `coredata` with any of these.
  case command

  /// The number of inputs of this kind in a thousand when all kinds are run.
  var share: Int {
    switch self {
    case .source: 170
    case .compiled: 220
    case .bundle: 70
    case .mapping: 170
    case .predicate: 300
    case .archive: 25
    case .store: 25
    case .migration: 10
    case .journal: 9
    case .command: 1
    }
  }

  /// The number of inputs that `--fixed` runs, as in continuous integration.
  var fixedCount: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .predicate: 4_000
    case .archive, .store: 2_000
    case .migration, .journal: 500
    case .command: 100
    }
  }

  /// The number of inputs after which a worker is replaced, so that retained memory does not accumulate.
  var batch: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .predicate: 5_000
    case .archive, .store: 1_000
    case .migration, .journal: 250
    case .command: 50
    }
  }

  /// Creates the runner of this kind.
  ///
  /// - Parameter lab: The directory for files.
  func runner(_ lab: FuzzLab) throws -> any FuzzRunner {
    switch self {
    case .source: try ModelRunner(lab, form: .source)
    case .compiled: try ModelRunner(lab, form: .compiled)
    case .bundle: try BundleRunner(lab)
    case .mapping: try MappingRunner(lab)
    case .predicate: try PredicateRunner(lab)
    case .archive: try StoreRunner(lab, damage: .archives)
    case .store: try StoreRunner(lab, damage: .everything)
    case .migration: try MigrationRunner(lab)
    case .journal: try JournalRunner(lab)
    case .command: try CommandRunner(lab)
    }
  }
}

/// Creates and runs inputs of one kind.
protocol FuzzRunner {
  /// Creates an input. Equal choices create equal inputs.
  func input(_ random: inout FuzzRandom) throws -> FuzzInput

  /// Runs an input.
  ///
  /// - Parameter random: Further choices, about what is done with the input.
  /// - Returns: The result in a few words. Inputs with new results are kept.
  /// - Throws: `Broken` if a promise was broken. Any other error means that the input was refused.
  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String
}

/// A broken promise, described by a sentence.
struct Broken: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
