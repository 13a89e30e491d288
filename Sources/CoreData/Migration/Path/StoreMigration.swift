// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The migration of one SQLite store to a version of its model: what would be done, and doing it.
///
/// Opening a store with `NSMigratePersistentStoresAutomaticallyOption` does the same in one go. This type is an addition to
/// Apple's interface, for tools and tests that want to see the steps first, keep a backup, show progress, or cancel.
///
/// A store that is several versions behind is taken through the versions in between, as `MigrationPath` tells. A store is
/// either of the version it was or of the version asked for, and nothing in between.
public struct StoreMigration {
  /// From one version to the next.
  public struct Step {
    /// How a step is carried out.
    public enum Kind: String, Sendable {
      /// By a mapping that follows from the two models; the store's own file is changed, in a transaction.
      case inferred
      /// By a mapping model that somebody wrote; a new store is made, which takes the old one's place when it is complete.
      case mapping
    }

    /// The name of the version that the step begins with.
    public let source: String
    /// The name of the version that the step ends with.
    public let destination: String
    /// How the step is carried out.
    public let kind: Kind
    /// Whether the store's own file is changed, in a transaction, instead of a copy.
    public var isInPlace: Bool { kind == .inferred }
    /// The model that the step begins with.
    public let sourceModel: NSManagedObjectModel
    /// The model that the step ends with.
    public let destinationModel: NSManagedObjectModel
    /// What becomes of entities and properties.
    public let mappingModel: NSMappingModel
    /// The file that the mapping model was read from; nil for an inferred one, and for one that was made in code.
    public let mappingURL: URL?
    /// Why the step goes this way, in a sentence.
    public let reason: String

    /// The reason of a step about which there is nothing more to say.
    package static let plainReason = "No mapping model is for these two versions; one can be inferred."
  }

  /// Where the store is.
  public let storeURL: URL
  /// The store's metadata as it was when the migration was planned.
  public let metadata: [String: Any]
  /// The name of the version that the store has now; "the store's own model" where that is none of the versions known.
  public let source: String
  /// The name of the version that the store is to have.
  public let destination: String
  /// What is to be done, in order; empty when the store has the wanted version already.
  public let steps: [Step]
  /// Why this way over the versions was chosen, in sentences.
  public let explanation: [String]
  /// What may be dropped of entities that a mapping model leaves out, and of a store that no version has written.
  public let allowsLoss: AllowedLosses
  /// What the inferred steps would drop if the store held any, where that is watched: for stores that no known version has
  /// written, and for callers that ask for it.
  var droppable: [DroppedContent]
  let configuration: String?
  let busyTimeout: TimeInterval
  /// Whether rows that no step touches are counted for the report, which takes longer than a step that adds a column.
  var countsAllRows = true
  /// Whether a store that another file has taken the place of stays beside it: `Data.sqlite` as `Data~.sqlite`.
  ///
  /// Core Data's guide tells so of migrations by mapping models. A migration that changes the store's own file replaces
  /// nothing, and leaves nothing.
  public var keepsReplacedStore = true
  /// Whether columns that no property needs any more stay until
  /// `NSPersistentStoreCoordinator.finishDeferredLightweightMigration()` removes them.
  public var defersCleanup = false
  /// When SQLite checks the file of the store before it is migrated.
  public var integrityCheck = StoreIntegrityCheck.automatic
  /// Makes the migration managers of steps by mapping models, where they are not to be ordinary ones.
  public var managerFactory: MigrationManagerFactory?
  /// What comes into the store's metadata together with the last step.
  var addedMetadata: [String: Any] = [:]

  /// Plans the migration of a store. Nothing is changed.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions, or a single model.
  ///   - version: the name of the version that the store is to have; nil for the current one.
  ///   - mappings: mapping models (`.cdm`, `.xcmappingmodel`), and folders of such.
  ///   - isProgressive: false for Core Data's own way: one step, by a mapping model for exactly the two versions, or else
  ///     inferred.
  ///   - allowsLoss: what may be dropped of rows that a mapping model leaves out, and of what a store holds that no version
  ///     has written and the versions do not have: `true`, or a list as `["Legacy", "Order.note"]`.
  /// - Throws: the errors of reading store, model and mapping models; 134130 when no model fits the store, or only the one
  ///   that it carries, and something would be dropped; 134140 for a mapping model that does not fit any more; 134190 when a
  ///   step cannot be inferred.
  public init(
    storeAt url: URL, modelsAt modelURL: URL, version: String? = nil, mappings: [URL] = [], isProgressive: Bool = true,
    allowsLoss: AllowedLosses = .none
  ) throws {
    let known = try ModelVersions(contentsOf: modelURL)
    try self.init(
      storeAt: url, known: known, version: version, mappings: mappings, isProgressive: isProgressive,
      allowsLoss: allowsLoss)
  }

  /// Plans the migration of a store among versions that are known.
  ///
  /// - Parameter counted: counts what the store holds, where its rows are in another file.
  package init(
    storeAt url: URL, known: ModelVersions, version: String?, mappings: [URL] = [], isProgressive: Bool = true,
    allowsLoss: AllowedLosses, counted: (([DroppedContent]) throws -> [DroppedContent])? = nil
  ) throws {
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    let wanted = try known.version(named: version)
    try self.init(
      storeAt: url, metadata: metadata, known: known, destination: wanted,
      configuration: known.configuration(fitting: metadata),
      rules: MigrationPath.Rules(mappings: .init(urls: mappings), isProgressive: isProgressive), allowsLoss: allowsLoss,
      counted: counted)
  }

  /// Plans the migration of a store whose metadata are known, among versions that are known.
  init(
    storeAt url: URL, metadata: [String: Any], known: ModelVersions, destination: ModelVersion,
    configuration: String?, rules: MigrationPath.Rules = .init(), search: SourceModelSearch? = nil,
    busyTimeout: TimeInterval = StoreMigration.defaultBusyTimeout, allowsLoss: AllowedLosses = .none,
    counted: NearestVersion.Counter? = nil
  ) throws {
    storeURL = url
    self.metadata = metadata
    self.busyTimeout = busyTimeout
    self.allowsLoss = allowsLoss
    self.destination = destination.name
    let planner = SourceVersionFinder(known: known, configuration: configuration, search: search)
    let (start, siblings) = try planner.sourceVersion(of: url, metadata: metadata)
    // A destination that was read from a file of its own does not tell of the versions in between.
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
      ["None of the known versions has written the store; the way begins with the model that it carries."]
      + [planner.known.noteOnOthers].compactMap { $0 } + path.explanation
    droppable = try DroppedContent.dropped(by: Self.inferredLegs(path.steps), of: entities)
    let dropped = try counted(allowsLoss.refused(droppable))
    guard dropped.isEmpty else {
      throw planner.missingSourceModel(of: url, metadata: metadata, dropped: dropped)
    }
  }

  /// Has the migration look again, when it runs, whether inferred steps drop something that is not allowed: rows may have
  /// been written since it was planned.
  ///
  /// - Throws: 134190 where a step cannot be inferred.
  package mutating func watchLosses() throws {
    guard droppable.isEmpty else { return }
    let entities = Set((metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]).keys)
    droppable = try DroppedContent.dropped(by: Self.inferredLegs(steps), of: entities)
  }

  /// The inferred steps before the first one by a mapping model.
  private static func inferredLegs(_ steps: [Step]) throws -> [DroppedContent.InferredLeg] {
    try steps.prefix { $0.kind == .inferred }.map { step in
      let (source, destination) = (step.sourceModel.document, step.destinationModel.document)
      return .init(
        source: source,
        mapping: try step.mappingModel.inferred ?? InferredMapping(source: source, destination: destination))
    }
  }

  /// The migration of a store along a way that is known.
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

  /// How long to wait for other users of the store, in seconds.
  static let defaultBusyTimeout: TimeInterval = 5

  /// The migration policies that mapping models on the way name and this program does not have, without which `run` fails.
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

  /// Whether none of the known versions has written the store, so that the way begins with the model that it carries.
  package var beginsWithOwnModel: Bool { source == SourceVersionFinder.storesOwnName && isNeeded }

  /// Whether there is anything to do.
  public var isNeeded: Bool { !steps.isEmpty }
}
