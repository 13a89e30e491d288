// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSEntityDescription {
  /// The entity of a name in the model of a context; nil for a name that the model does not know.
  ///
  /// Traps when the context has no coordinator.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.coordinator.managedObjectModel.entitiesByName[entityName]
  }

  /// Makes an object of the entity's class and inserts it into a context.
  ///
  /// Traps when the context has no coordinator, or its model no entity of that name.
  public class func insertNewObject(
    forEntityName entityName: String, into context: NSManagedObjectContext
  ) -> NSManagedObject {
    guard let entity = entity(forEntityName: entityName, in: context) else {
      let known = context.coordinator.managedObjectModel.entitiesByName.keys.sorted().joined(separator: ", ")
      preconditionFailure("The context's model has no entity named '\(entityName)'; it has \(known).")
    }
    return ManagedObjectClasses.of(entity).init(entity: entity, insertInto: context)
  }
}
