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
  /// A mapping model as text (`.mapping`).
  case text
  /// The lock of a model's versions (`coredata.lock`).
  case lock
  /// The format of a predicate or an expression.
  case predicate
  /// A store's metadata, its model cache, a transformable value.
  case archive
  /// The default values of a model's attributes, of any type and shape, as SwiftData's models have them.
  case defaults
  /// An XML or binary store.
  case file
  /// A store: its pages, cells and schema, its log and rollback journal.
  case store
  /// The tables of a store's persistent history.
  case history
  /// A store with composite attributes.
  case composite
  /// A store to repair.
  case repair
  /// A store to migrate.
  case migration
  /// The files beside a store: the journal of unfinished work, notes, hot journals.
  case journal
  /// Swift sources to translate.
  case port
  /// The command `coredata` with any of these.
  case command

  /// The number of inputs of this kind in a thousand when all kinds are run.
  var share: Int {
    switch self {
    case .source: 160
    case .compiled: 210
    case .bundle: 60
    case .mapping: 130
    case .text: 60
    case .lock: 15
    case .predicate: 240
    case .archive: 22
    case .defaults: 5
    case .file: 16
    case .store: 22
    case .history: 8
    case .composite: 5
    case .repair: 8
    case .migration: 9
    case .journal: 9
    case .port: 20
    case .command: 1
    }
  }

  /// The number of inputs that `--fixed` runs, as in continuous integration.
  var fixedCount: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .text, .predicate: 4_000
    case .archive, .store, .lock, .port: 2_000
    case .defaults, .file, .history, .composite, .repair, .migration, .journal: 500
    case .command: 100
    }
  }

  /// The number of inputs after which a worker is replaced, so that retained memory does not accumulate.
  var batch: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .text, .predicate: 5_000
    case .archive, .store, .lock, .port: 1_000
    case .defaults, .file, .history, .composite, .repair, .migration, .journal: 250
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
    case .text: try MappingTextRunner(lab)
    case .lock: try LockRunner(lab)
    case .predicate: try PredicateRunner(lab)
    case .archive: try StoreRunner(lab, damage: .archives)
    case .defaults: try DefaultsRunner(lab)
    case .file: try FileStoreRunner(lab)
    case .store: try StoreRunner(lab, damage: .everything)
    case .history: try HistoryRunner(lab)
    case .composite: try CompositeRunner(lab)
    case .repair: try RepairRunner(lab)
    case .migration: try MigrationRunner(lab)
    case .journal: try JournalRunner(lab)
    case .port: try PortRunner(lab)
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
