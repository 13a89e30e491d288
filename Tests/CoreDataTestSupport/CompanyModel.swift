// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A model with every kind of attribute and relationship.
public enum CompanyModel {
  /// A new model; each test makes its own, since a coordinator ends its editing.
  public static func make() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Department", [.make("name", .stringAttributeType, optional: false, default: "New department")])
    builder.entity(
      "Employee",
      [
        .make("name", .stringAttributeType, optional: false), .make("age", .integer16AttributeType),
        .make("badge", .integer32AttributeType), .make("steps", .integer64AttributeType),
        .make("isActive", .booleanAttributeType, optional: false, default: true),
        .make("rating", .doubleAttributeType), .make("height", .floatAttributeType),
        .make("salary", .decimalAttributeType), .make("hired", .dateAttributeType),
        .make("photo", .binaryDataAttributeType), .make("scan", .binaryDataAttributeType, external: true),
        .make("token", .UUIDAttributeType), .make("site", .URIAttributeType),
        .make("tags", .transformableAttributeType), .make("mood", .stringAttributeType, transient: true),
      ])
    builder.entity("Manager", parent: "Employee", [.make("bonus", .doubleAttributeType)])
    builder.entity("Project", [.make("title", .stringAttributeType)])
    builder.entity("Task", [.make("title", .stringAttributeType)])
    builder.entity("Contract", [.make("number", .integer64AttributeType)])
    builder.relate(
      .init("Department", "employees", toMany: true, rule: .denyDeleteRule), .init("Employee", "department"))
    builder.relate(.init("Manager", "reports", toMany: true), .init("Employee", "manager"))
    builder.relate(.init("Employee", "friends", toMany: true), .init("Employee", "friends", toMany: true))
    builder.relate(.init("Employee", "projects", toMany: true), .init("Project", "members", toMany: true))
    builder.relate(
      .init("Project", "tasks", toMany: true, ordered: true, rule: .cascadeDeleteRule), .init("Task", "project"))
    builder.relate(
      .init("Employee", "contract", rule: .cascadeDeleteRule), .init("Contract", "employee", optional: false))
    builder.relate(
      .init("Employee", "favourites", toMany: true, ordered: true), .init("Task", "favouredBy", toMany: true))
    builder.point(.init("Department", "archive", toMany: true), to: "Task")
    return builder.model()
  }
}

extension NSManagedObjectContext {
  /// Inserts an object and sets its values.
  @discardableResult
  public func make(_ entity: String, _ values: [String: Any] = [:]) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: self)
    object.setValuesForKeys(values)
    return object
  }

  /// Saves; returns the code of the error, or 0.
  public func saveCode() -> Int {
    do {
      try save()
      return 0
    } catch {
      return (error as NSError).code
    }
  }

  /// All objects of an entity, sorted by a key.
  public func all(_ entity: String, by key: String = "name", where format: NSPredicate? = nil) throws
    -> [NSManagedObject]
  {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)]
    request.predicate = format
    return try fetch(request)
  }
}
