// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSEntityDescription {
  /// Returns the entity of that name in the model of a context.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - context: a context with a coordinator.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.coordinator.managedObjectModel.entitiesByName[entityName]
  }

  /// Makes an object of the entity of that name, of the class that the model names for it, and inserts it.
  ///
  /// - Parameters:
  ///   - entityName: the name of an entity of the context's model. An unknown name stops the program.
  ///   - context: a context with a coordinator.
  public class func insertNewObject(
    forEntityName entityName: String, into context: NSManagedObjectContext
  ) -> NSManagedObject {
    guard let entity = entity(forEntityName: entityName, in: context) else {
      let known = context.coordinator.managedObjectModel.entities.compactMap(\.name).sorted()
      preconditionFailure(
        "The model has no entity named '\(entityName)'. It has: \(known.joined(separator: ", ")).")
    }
    return ManagedObjectClasses.of(entity).init(entity: entity, insertInto: context)
  }
}
