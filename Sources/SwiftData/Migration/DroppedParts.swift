// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Parts of `Codable` structs and enums that a container's types no longer have, and that a store has values of.
///
/// A migration without a plan drops them only with permission, as it does with properties.
struct DroppedParts {
  private struct Part {
    let entity: String
    let property: String
    let name: String
    var count = 0
  }

  private var parts: [Part] = []

  /// Counts the values in a store.
  ///
  /// - Parameters:
  ///   - old: the model that the store carries.
  ///   - new: the container's model.
  init(from old: NSManagedObjectModel, to new: NSManagedObjectModel, at url: URL) throws {
    let candidates = Self.candidates(old, new)
    guard !candidates.isEmpty else { return }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: old)
    let store = try coordinator.addPersistentStore(
      type: .sqlite, configuration: nil, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    for var part in candidates {
      let request = NSFetchRequest<NSManagedObject>(entityName: part.entity)
      request.predicate = NSPredicate(format: "%K != nil", "\(part.property).\(part.name)")
      part.count = try context.performAndWait { try context.count(for: request) }
      if part.count > 0 { parts.append(part) }
    }
    try coordinator.remove(store)
  }

  private static func candidates(_ old: NSManagedObjectModel, _ new: NSManagedObjectModel) -> [Part] {
    var found: [Part] = []
    for entity in new.entities {
      guard let before = old.entitiesByName[entity.renamingIdentifier ?? entity.name ?? ""] else { continue }
      let inherited = entity.superentity?.attributesByName ?? [:]
      for attribute in entity.attributesByName.values.sorted(by: { $0.name < $1.name })
      where inherited[attribute.name] == nil {
        guard let attribute = attribute as? NSCompositeAttributeDescription,
          let previous = before.attributesByName[attribute.renamingIdentifier ?? attribute.name]
            as? NSCompositeAttributeDescription
        else { continue }
        let kept = Set(attribute.elements.map { $0.renamingIdentifier ?? $0.name })
        for element in previous.elements where !kept.contains(element.name) {
          found.append(Part(entity: before.name ?? "", property: previous.name, name: element.name))
        }
      }
    }
    return found
  }

  /// Throws if values would be dropped without permission.
  func check(_ allowed: AllowedLosses, _ opening: ContainerMigration) throws {
    let places = Set(parts.map { "\($0.entity).\($0.property)" }).sorted()
    guard let first = parts.first, allowed != .all, allowed != AllowedLosses(places: places) else { return }
    let losses: [String] = parts.map { part in
      let rows = part.count == 1 ? "1 row has" : "\(part.count) rows have"
      return "'\(part.name)' of '\(part.entity).\(part.property)', which \(rows)"
    }
    throw SwiftDataError(
      .loadIssueModelContainer,
      "The store \(opening.place) could not be migrated to the container's schema. It is unchanged. The types of "
        + "the schema no longer have these parts: \(losses.joined(separator: "; ")). Write a migration plan whose "
        + "schemas say what is removed, or allow the loss with ModelConfiguration.migration.allowedLosses = \(places), "
        + "or true if there are other losses.",
      entity: first.entity, property: first.property)
  }
}
