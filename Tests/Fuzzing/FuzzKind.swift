// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What an input is.
enum FuzzKind: String, CaseIterable {
  /// An `.xcdatamodel`.
  case source
  /// A `.mom`, an `.omo` or the archive of a store's model cache.
  case compiled
  /// A `.momd` or `.xcdatamodeld` with the property lists that belong to it.
  case bundle
  /// A `.cdm` or an `.xcmappingmodel`.
  case mapping
  /// The format of a predicate or an expression.
  case predicate
  /// A store's metadata, its model cache, a transformable value.
  case archive
  /// A store: its pages, cells and schema, its log and rollback journal.
  case store
  /// A store that is migrated.
  case migration
  /// What lies beside a store: the journal of unfinished work, notes, hot journals.
  case journal
  /// The command `coredata` over any of these.
  case command

  /// How many inputs of a thousand are of this kind when all kinds are run.
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

  /// How many inputs `--fixed` runs, which continuous integration does.
  var fixedCount: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .predicate: 4_000
    case .archive, .store: 2_000
    case .migration, .journal: 500
    case .command: 100
    }
  }

  /// After how many inputs a worker is replaced by a new one, so that what it has kept counts for nobody.
  var batch: UInt64 {
    switch self {
    case .source, .compiled, .bundle, .mapping, .predicate: 5_000
    case .archive, .store: 1_000
    case .migration, .journal: 250
    case .command: 50
    }
  }

  /// Makes what runs inputs of this kind.
  ///
  /// - Parameter lab: where files can be made.
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

/// Makes and runs the inputs of one kind.
protocol FuzzRunner {
  /// Makes an input; the same for the same choices.
  func input(_ random: inout FuzzRandom) throws -> FuzzInput

  /// Has an input read.
  ///
  /// - Parameter random: further choices, about what is done with the input.
  /// - Returns: what came out, in a few words; inputs with a result that has not been seen are kept.
  /// - Throws: `Broken` where a promise was not kept; any other error means that the input was refused.
  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String
}

/// A promise that was not kept, in a sentence.
struct Broken: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
