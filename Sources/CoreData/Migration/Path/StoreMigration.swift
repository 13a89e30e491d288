// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The migration of one SQLite store to a version of its model: a plan, and its execution.
///
/// Opening a store with `NSMigratePersistentStoresAutomaticallyOption` plans and runs the same migration. This type is
/// an addition to Apple's API, for tools and tests that inspect the steps first, keep a backup, show progress, or
/// cancel.
///
/// A store that is several versions behind is migrated through the versions in between, by the rules of
/// `MigrationPath`. Afterwards the store has either its old version or the wanted one, never one in between.
public struct StoreMigration {
  /// A step from one version to the next.
  public struct Step {
    /// The way in which a step is executed.
    public enum Kind: String, Sendable {
      /// By a mapping inferred from the two models, in a transaction of the store's own file.
      case inferred
      /// By an explicit mapping model. A new store replaces the old one when it is complete.
      case mapping
    }

    /// The name of the source version.
    public let source: String
    /// The name of the destination version.
    public let destination: String
    /// The way in which the step is executed.
    public let kind: Kind
    /// Whether the step changes the store's own file, in a transaction, instead of creating a new store.
    public var isInPlace: Bool { kind == .inferred }
    /// The source model.
    public let sourceModel: NSManagedObjectModel
    /// The destination model.
    public let destinationModel: NSManagedObjectModel
    /// The mapping of entities and properties.
    public let mappingModel: NSMappingModel
    /// The file of the mapping model; nil if it was inferred or created in code.
    public let mappingURL: URL?
    /// The reason for using this mapping, in sentences.
    public let reason: String

    /// The reason given for an ordinary inferred step.
    package static let plainReason = "No mapping model is for these two versions; one can be inferred."
  }

  /// The location of the store.
  public let storeURL: URL
  /// The store's metadata when the migration was planned.
  public let metadata: [String: Any]
  /// The name of the store's version; "the store's own model" if it is not a known version.
  public let source: String
  /// The name of the wanted version.
  public let destination: String
  /// The steps, in order; empty if the store already has the wanted version.
  public let steps: [Step]
  /// The reason for choosing this path, in sentences.
  public let explanation: [String]
  /// The content that the migration may drop of entities that a mapping model omits, and of a store that no known
  /// version has written.
  public let allowsLoss: AllowedLosses
  /// The content that inferred steps would drop if the store contained it. Set for stores that no known version has
  /// written, and by `watchLosses()`.
  var droppable: [DroppedContent]
  let configuration: String?
  let busyTimeout: TimeInterval
  /// Whether the report counts rows that no step touches. Counting takes longer than adding a column.
  var countsAllRows = true
  /// Whether a replaced store is kept beside the new one: `Data.sqlite` as `Data~.sqlite`.
  ///
  /// Core Data's guide describes this for migrations by mapping models. An in-place migration replaces no file, so it
  /// keeps none.
  public var keepsReplacedStore = true
  /// Whether columns of removed properties are kept until
  /// `NSPersistentStoreCoordinator.finishDeferredLightweightMigration()` drops them.
  public var defersCleanup = false
  /// When SQLite checks the store's file before the migration.
  public var integrityCheck = StoreIntegrityCheck.automatic
  /// Creates the migration managers for steps by mapping models; nil for `NSMigrationManager` itself.
  public var managerFactory: MigrationManagerFactory?
  /// Metadata written together with the last step.
  var addedMetadata: [String: Any] = [:]
  /// Transactions without changes that are recorded in the store's history together with the last step, if all steps
  /// are in place.
  var historyMarks: [HistoryOrigin] = []

  /// Plans the migration of a store, without changing anything.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions, or a single model.
  ///   - version: the name of the wanted version; nil for the current one.
  ///   - mappings: mapping models (`.cdm`, `.xcmappingmodel`), and directories of them.
  ///   - isProgressive: false for Core Data's own behaviour: a single step, by a mapping model for exactly the two
  ///     versions, or else inferred.
  ///   - allowsLoss: the content that the migration may drop of entities that a mapping model omits, and of a store
  ///     that no known version has written: `true`, or a list such as `["Legacy", "Order.note"]`.
  /// - Throws: the errors of reading store, model and mapping models; 134130 if no model matches the store, or only the
  ///   one that it carries, and something would be dropped; 134140 for a mapping model that no longer matches; 134190
  ///   if a step cannot be inferred.
  public init(
    storeAt url: URL, modelsAt modelURL: URL, version: String? = nil, mappings: [URL] = [], isProgressive: Bool = true,
    allowsLoss: AllowedLosses = .none
  ) throws {
    let known = try ModelVersions(contentsOf: modelURL)
    try self.init(
      storeAt: url, known: known, version: version, mappings: mappings, isProgressive: isProgressive,
      allowsLoss: allowsLoss)
  }

  /// Plans the migration of a store among known versions.
  ///
  /// - Parameter counted: counts the store's content if its rows are in another file.
  package init(
    storeAt url: URL, known: ModelVersions, version: String?, mappings: [URL] = [], isProgressive: Bool = true,
    allowsLoss: AllowedLosses, counted: (([DroppedContent]) throws -> [DroppedContent])? = nil
  ) throws {
    let metadata = try ErrorLocation.naming(url) { try SQLiteStore.metadataForPersistentStore(with: url) }
    let wanted = try known.version(named: version)
    self = try ErrorLocation.naming(url) {
      try StoreMigration(
        storeAt: url, metadata: metadata, known: known, destination: wanted,
        configuration: known.configuration(fitting: metadata),
        rules: MigrationPath.Rules(mappings: .init(urls: mappings), isProgressive: isProgressive),
        allowsLoss: allowsLoss, counted: counted)
    }
  }

  /// Plans the migration of a store with the given metadata, among known versions.
  ///
  /// - Parameters:
  ///   - allowsDowngrade: whether a store that no known version has written may be reduced to a known version, provided
  ///     that it contains none of the content that is removed.
  ///   - carried: returns the model that the store carries.
  ///   - counted: counts the store's content if its rows are not in a SQLite file.
  init(
    storeAt url: URL, metadata: [String: Any], known: ModelVersions, destination: ModelVersion,
    configuration: String?, rules: MigrationPath.Rules = .init(), search: SourceModelSearch? = nil,
    busyTimeout: TimeInterval = StoreOptions.defaultTimeout, allowsLoss: AllowedLosses = .none,
    allowsDowngrade: Bool = true,
    carried: @escaping (URL) throws -> NSManagedObjectModel? = SourceVersionFinder.carriedByFile,
    counted: NearestVersion.Counter? = nil
  ) throws {
    storeURL = url
    self.metadata = metadata
    self.busyTimeout = busyTimeout
    self.allowsLoss = allowsLoss
    self.destination = destination.name
    let planner = SourceVersionFinder(
      known: known, configuration: configuration, search: search, carried: carried)
    let (start, siblings) = try planner.sourceVersion(of: url, metadata: metadata)
    // A destination read from a single file does not include the versions in between.
    let known = known.names.count > 1 ? known : ModelVersions(siblings + known.versions)
    source = start.name
    let isOwn = start.name == SourceVersionFinder.storesOwnName
    let configuration =
      isOwn && configuration == nil ? ModelVersions([start]).configuration(fitting: metadata) : configuration
    self.configuration = configuration
    guard isOwn else {
      let path = try MigrationPath(known: known, from: start, to: destination, rules: rules, storeURL: url)
      (steps, explanation, droppable) = (path.steps, path.explanation, [])
      return
    }
    let model = try start.model()
    let counted =
      counted ?? { items in try SQLiteStore.counted(items, at: url, model: model, configuration: configuration) }
    let entities = Set((metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]).keys)
    let nearest = try NearestVersion(model: start, entities: entities, counted: counted)
      .choose(among: rules.isProgressive ? known.versions : [])
    let path = try MigrationPath(
      known: known, from: start, to: destination, rules: rules, nearest: nearest, storeURL: url)
    steps = path.steps
    explanation =
      ["The store was written with none of the known versions; the path starts with the model that it contains."]
      + [planner.known.noteOnOthers].compactMap { $0 } + path.explanation
    droppable = try DroppedContent.dropped(by: Self.inferredLegs(path.steps), of: entities)
    let refused = allowsLoss.refused(droppable)
    let dropped = try counted(refused)
    guard dropped.isEmpty, allowsDowngrade || refused.isEmpty else {
      throw planner.missingSourceModel(
        of: url, metadata: metadata,
        reduction: .init(to: destination.name, reduced: refused, dropped: dropped, allowsReduction: allowsDowngrade))
    }
  }

  /// Makes `run(progress:)` check again whether inferred steps drop content without permission, because rows may have
  /// been written after planning.
  ///
  /// - Throws: 134190 if a step cannot be inferred.
  package mutating func watchLosses() throws {
    guard droppable.isEmpty else { return }
    let entities = Set((metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]).keys)
    droppable = try DroppedContent.dropped(by: Self.inferredLegs(steps), of: entities)
  }

  /// Returns the inferred steps before the first step by a mapping model.
  private static func inferredLegs(_ steps: [Step]) throws -> [DroppedContent.InferredLeg] {
    try steps.prefix { $0.kind == .inferred }.map { step in
      let (source, destination) = (step.sourceModel.document, step.destinationModel.document)
      return .init(
        source: source, destination: destination,
        mapping: try step.mappingModel.inferred ?? InferredMapping(source: source, destination: destination))
    }
  }

  /// Creates the migration of a store along a known path.
  init(
    storeAt url: URL, metadata: [String: Any], path: MigrationPath, configuration: String?, busyTimeout: TimeInterval
  ) {
    storeURL = url
    self.metadata = metadata
    self.configuration = configuration
    self.busyTimeout = busyTimeout
    allowsLoss = .none
    droppable = []
    source = path.source
    destination = path.destination
    steps = path.steps
    explanation = path.explanation
  }

  /// The migration policy classes that mapping models on the path name and that this program lacks. `run(progress:)`
  /// fails without them.
  public var missingPolicies: [String] {
    var names: [String] = []
    for mapping in steps.filter({ $0.kind == .mapping }).flatMap({ $0.mappingModel.entityMappings ?? [] }) {
      guard let name = mapping.entityMigrationPolicyClassName, !names.contains(name),
        MigrationPolicyClasses.type(named: name) == nil
      else { continue }
      names.append(name)
    }
    return names
  }

  /// Whether no known version has written the store, so that the path begins with the model that the store carries.
  package var beginsWithOwnModel: Bool { source == SourceVersionFinder.storesOwnName && isNeeded }

  /// Whether the store needs to be migrated.
  public var isNeeded: Bool { !steps.isEmpty }
}

extension StoreMigration {
  /// Throws if the store was migrated by another process after the migration was planned, or if one runs the code of a
  /// stage.
  func checkMetadata(of file: StoreFile) throws {
    let now = try file.metadata()
    try StageLock.check(now, of: storeURL, own: StageLock.own(storeURL))
    let planned = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    // The store's file may have been replaced since it was opened.
    guard try !file.connection.hasMoved(), now[NSStoreModelVersionHashesKey] as? [String: Data] == planned else {
      throw InPlaceProblem(
        kind: .outdatedPlan,
        reason: "The migration was planned from the version '\(source)', but the store has changed to another version "
          + "since.",
        suggestion: "Plan the migration again.")
    }
  }

  /// Checks again whether the store contains data that the migration would drop without permission, because it may have
  /// been written to after planning.
  ///
  /// - Throws: 134110; 134130 for a store that no known version has written.
  func checkDropped(in file: StoreFile) throws {
    let watched = allowsLoss.refused(droppable)
    guard !watched.isEmpty, let model = steps.first?.sourceModel else { return }
    let document = model.document
    let schema = try file.schema(for: document, configuration: document.configuration(configuration))
    let dropped = try StoreContents(file.connection, schema: schema).counted(watched)
    guard dropped.isEmpty else {
      guard source == SourceVersionFinder.storesOwnName else {
        throw MigrationErrors.unplannedLoss(url: storeURL, dropped: dropped)
      }
      throw MigrationErrors.missingSourceModel(
        url: storeURL, metadata: metadata, searched: [],
        reduction: .init(to: destination, reduced: dropped, dropped: dropped, allowsReduction: true))
    }
  }

  /// Creates the same migration for another file.
  package init(_ other: StoreMigration, at url: URL) {
    self.init(other, steps: other.steps, of: url, metadata: other.metadata)
  }

  /// Creates a migration with some of the steps, for another file.
  init(_ other: StoreMigration, steps: [Step], of url: URL, metadata: [String: Any]) {
    storeURL = url
    self.metadata = metadata
    source = other.source
    destination = other.destination
    explanation = other.explanation
    self.steps = steps
    allowsLoss = other.allowsLoss
    droppable = other.droppable
    configuration = other.configuration
    busyTimeout = other.busyTimeout
    keepsReplacedStore = other.keepsReplacedStore
    defersCleanup = other.defersCleanup
    managerFactory = other.managerFactory
    integrityCheck = other.integrityCheck
    addedMetadata = other.addedMetadata
    historyMarks = other.historyMarks
  }
}
