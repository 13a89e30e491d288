// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// A path through the versions of a model, from a store's version to the wanted one. An addition to Apple's API.
///
/// The path is chosen by these rules; the first that decides wins:
///
/// 1. A mapping model written for exactly the two versions is used, even where all steps in between could be inferred. Core
///    Data would use it, and it was written on purpose.
/// 2. Inferred steps do not bypass a mapping model. Where one connects two versions on the path, inference was not meant to
///    connect them, and what the mapping model carries over would be lost. So the path uses the mapping model, even where
///    the direct step could be inferred. It is bypassed only where no path through it reaches the destination; the
///    explanation says so.
///    A mapping model that fits several steps is used for one of them, as `KnownMappings` describes. The explanation names those
///    that are not used.
/// 3. As few steps as possible need code of the program (a policy), and then as few as possible copy the store: one mapping
///    model across three versions is better than three of them.
/// 4. Inferred steps go through all versions in between, so that the renamings and default values of each take effect. A
///    version is skipped where no mapping to or from it can be inferred, and where going through it would drop what both
///    ends have: the order of versions, by name or by similarity, need not be the order in which they were made.
///
/// A mapping model that was meant for two versions on the path and no longer fits them is an error; it is never skipped
/// silently. Neither is a version that cannot be read, where an inferred step would pass over it: what it renames, or fills
/// in, would be lost.
///
/// The same rules apply to a path back to an earlier version. It may drop what only later versions have, as Apple's
/// inference does.
///
/// A store that none of the versions has written, and that carries its own model, is first migrated to the version for
/// which an inferred step drops the least of the store's content; among equals, to the version most similar to the
/// store's model. Such a path must not drop anything that the store contains, including the order of relationships,
/// unless `StoreMigration` allows it. Opening a store does not take such a path at all if it would remove or narrow
/// anything, unless `NSPersistentStoreDescription.allowsDowngrade` is set.
public struct MigrationPath {
  /// The name of the first version.
  public let source: String
  /// The name of the last version.
  public let destination: String
  /// The steps, in order; empty if the two versions have the same hashes.
  public let steps: [StoreMigration.Step]
  /// The reasons for choosing this path, in sentences. Each step has its own reason.
  public let explanation: [String]

  /// Finds the path between two versions of a model.
  ///
  /// - Parameters:
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions.
  ///   - source: the name of the first version.
  ///   - destination: the name of the last version; nil for the current one.
  ///   - mappings: mapping models (`.cdm`, `.xcmappingmodel`), and directories of them.
  ///   - isProgressive: false for Core Data's own behaviour: a single step, by a mapping model for exactly the two
  ///     versions, or else inferred.
  /// - Throws: the errors of reading models and mapping models, including a version that an inferred step would skip;
  ///   134060 for an unknown version; 134140 for a mapping model that no longer matches; 134190 if a step cannot be
  ///   inferred.
  public init(
    modelsAt modelURL: URL, from source: String, to destination: String? = nil, mappings: [URL] = [],
    isProgressive: Bool = true
  ) throws {
    try self.init(
      known: ModelVersions(contentsOf: modelURL), from: source, to: destination, mappings: mappings,
      isProgressive: isProgressive)
  }

  /// Finds the path between two known versions.
  ///
  /// - Throws: as `init(modelsAt:from:to:mappings:isProgressive:)`.
  package init(
    known: ModelVersions, from source: String, to destination: String?, mappings: [URL] = [], isProgressive: Bool = true
  ) throws {
    try self.init(
      known: known, from: known.version(named: source), to: known.version(named: destination),
      rules: Rules(mappings: MappingLocations(urls: mappings), isProgressive: isProgressive))
  }

  /// The rules for choosing a path.
  struct Rules {
    var mappings = MappingLocations.none
    var infers = true
    var isProgressive = true
  }

  /// Finds the path between two versions.
  ///
  /// - Parameters:
  ///   - nearest: the first known version on the path, if the source is not a known version.
  ///   - storeURL: the store that the errors are about.
  init(
    known: ModelVersions, from source: ModelVersion, to destination: ModelVersion, rules: Rules,
    nearest: ModelVersion? = nil, storeURL: URL? = nil
  ) throws {
    self.source = source.name
    self.destination = destination.name
    guard source.hashes != destination.hashes else {
      (steps, explanation) = ([], [])
      return
    }
    let planner = try Self.planner(
      known, from: source, to: destination, files: rules.mappings.mappings(), rules, nearest: nearest,
      storeURL: storeURL)
    (steps, explanation) = try planner.plan()
    guard rules.isProgressive else { return }
    for step in steps where step.kind == .inferred {
      guard let (name, error) = known.unreadable(between: step.source, and: step.destination) else { continue }
      throw MigrationErrors.unreadableVersion(name, error, source: step.source, destination: step.destination)
    }
  }

  /// - Parameter files: the mapping models of the rules.
  private static func planner(
    _ known: ModelVersions, from source: ModelVersion, to destination: ModelVersion, files: [MappingFile],
    _ rules: Rules, nearest: ModelVersion? = nil, storeURL: URL? = nil
  ) throws -> PathPlanner {
    // A mapping model may connect any two versions; inferred steps connect the versions in between.
    let versions =
      files.isEmpty && nearest == nil ? known.versions(between: source, and: destination) : known.versions
    let order = VersionOrder(known: versions, source: source, destination: destination, nearest: nearest)
    var mappings = KnownMappings(
      files, versions: order.versions, names: order.names,
      ends: .init(source: order.source, destination: order.destination))
    if !rules.isProgressive { mappings.keep(files, from: order.source, to: order.destination) }
    let search = PathSearch(
      versions: order.versions, source: order.source, destination: order.destination, mappings: mappings,
      inferred: known.inferredSteps(order.versions), infers: rules.infers,
      isProgressive: rules.isProgressive)
    return PathPlanner(search: search, storeURL: storeURL)
  }

  /// Returns the names of the versions on the path between two versions, both ends included, without the models of the
  /// steps.
  ///
  /// - Parameter mappings: the mapping models.
  /// - Throws: as `init(modelsAt:from:to:mappings:isProgressive:)`, except for unreadable versions.
  package static func names(
    known: ModelVersions, from source: ModelVersion, to destination: ModelVersion, mappings: [MappingFile]
  ) throws -> [String] {
    guard source.hashes != destination.hashes else { return [source.name] }
    return try planner(known, from: source, to: destination, files: mappings, Rules()).names()
  }
}

/// The content of a store that a migration may drop. An addition to Apple's API.
///
/// `true` allows every loss and `false` none. A list names entities, with all their content, and properties:
/// `["Legacy", "Order.note"]`. The names may be those of any version on the path. A name may also be that of a table
/// which does not belong to the model, such as `ANSCKRECORDMETADATA`. Any other loss stops the migration.
public struct AllowedLosses: Hashable, Sendable, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
  /// Kinds of content.
  package enum Content: Hashable, Sendable, CaseIterable {
    case rows, values, links, order
  }

  /// Content that may be dropped.
  package struct Item: Hashable, Sendable {
    let contents: Set<Content>
    /// The entity; nil for all entities.
    let entity: String?
    /// The property; nil for everything in the entity.
    let property: String?

    package init(contents: Set<Content>, entity: String?, property: String?) {
      self.contents = contents
      self.entity = entity
      self.property = property
    }
  }

  private let items: Set<Item>
  /// The droppable tables that do not belong to the model; nil for all such tables.
  private let tables: Set<String>?

  package init(items: [Item], tables: Set<String>? = []) {
    self.items = Set(items)
    self.tables = tables
  }

  /// No loss is allowed.
  public static let none = AllowedLosses(items: [])
  /// Every loss is allowed.
  public static let all = AllowedLosses(
    items: [Item(contents: Set(Content.allCases), entity: nil, property: nil)], tables: nil)

  /// Allows losses in the named places.
  ///
  /// - Parameter places: entities, such as `Legacy`, and properties, such as `Order.note`.
  public init(places: [String]) {
    self.init(
      items: places.map { place in
        let names = place.split(separator: ".", maxSplits: 1).map(String.init)
        return Item(
          contents: Set(Content.allCases), entity: names.first ?? "", property: names.count == 2 ? names[1] : nil)
      }, tables: Set(places))
  }

  /// Allows every loss, or none.
  public init(booleanLiteral value: Bool) {
    self = value ? .all : .none
  }

  /// Allows losses in the named places, like `init(places:)`.
  public init(arrayLiteral elements: String...) {
    self.init(places: elements)
  }

  /// Returns whether a table that does not belong to the model may be dropped.
  func allows(table: String) -> Bool { tables?.contains(table) ?? true }

  /// Returns the losses that are not allowed.
  func refused(_ contents: [DroppedContent]) -> [DroppedContent] {
    contents.filter { content in
      !items.contains { item in
        item.contents.contains(content.kind)
          && content.places.contains { place in
            (item.entity == nil || item.entity == place.entity)
              && (item.property == nil || item.property == place.property)
          }
      }
    }
  }
}

extension DroppedContent {
  var kind: AllowedLosses.Content {
    if property == nil { return .rows }
    if !isRelationship { return .values }
    return extent == .order ? .order : .links
  }
}
