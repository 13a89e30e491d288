// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles

/// What changed from one version of a model to another, in a stable order.
///
/// Entities and properties are the same in both versions when they share a renaming identifier, or else a name.
public struct ModelDifference: Hashable, Sendable {
  /// The changes: by entity, first those of the entity itself, then by property; at the end what belongs to no entity.
  public let changes: [ModelChange]

  /// Compares two versions.
  public init(from old: ModelDocument, to new: ModelDocument) {
    changes = ModelComparison(from: old, to: new).changes()
  }

  /// Compares two versions.
  public init(from old: NSManagedObjectModel, to new: NSManagedObjectModel) {
    self.init(from: old.document, to: new.document)
  }

  /// Whether nothing changed.
  public var isEmpty: Bool { changes.isEmpty }

  /// Whether stores of the old version are refused by the new one.
  public var changesVersionHashes: Bool { changes.contains(where: \.changesVersionHash) }

  /// The kind of migration that all changes together ask for.
  public var migration: MigrationDemand { changes.map(\.migration).max() ?? .none }

  /// The names of the entities that changed, in order; nil stands for changes that belong to none.
  public var entities: [String?] {
    var names: [String?] = []
    for change in changes where names.last != .some(change.entity) { names.append(change.entity) }
    return names
  }

  /// The changes of an entity.
  public func changes(of entity: String?) -> [ModelChange] {
    changes.filter { $0.entity == entity }
  }
}
