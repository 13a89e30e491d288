// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The content of a store, in a form that can be compared: by entity and key, then by property.
public struct StoreDump: Equatable {
  /// Objects by `Entity/p12`; the values as text, relationships as lists of keys.
  public var objects: [String: [String: String]] = [:]

  /// Reads everything that a context's stores hold.
  public init(_ context: NSManagedObjectContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    for entity in model.entities where !entity.isAbstract {
      guard let name = entity.name else { continue }
      let request = NSFetchRequest<NSManagedObject>(entityName: name)
      request.includesSubentities = false
      for object in try context.fetch(request) {
        objects[StoreDump.key(object.objectID)] = StoreDump.values(of: object)
      }
    }
  }

  /// A value of a property as text.
  ///
  /// - Parameter name: what stands for an object.
  public static func words(of value: Any?, _ name: (NSManagedObject) -> String) -> String {
    func names(_ objects: [Any]) -> [String] { objects.compactMap { ($0 as? NSManagedObject).map(name) } }
    return switch value {
    case let object as NSManagedObject: name(object)
    case let set as NSSet: "\(names(set.allObjects).sorted())"
    case let set as NSOrderedSet: "\(names(set.array))"
    case let value?: "\(value)"
    case nil: "nil"
    }
  }

  /// `Entity/p12`
  public static func key(_ id: NSManagedObjectID) -> String {
    id.uriRepresentation().pathComponents.suffix(2).joined(separator: "/")
  }

  private static func values(of object: NSManagedObject) -> [String: String] {
    var values: [String: String] = [:]
    for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
      values[name] = text(object.value(forKey: name))
    }
    for (name, relationship) in object.entity.relationshipsByName where !relationship.isTransient {
      let keys = object.objectIDs(forRelationshipNamed: name).map(key)
      values[name] = (relationship.isOrdered ? keys : keys.sorted()).joined(separator: ", ")
    }
    return values
  }

  private static func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: data.base64EncodedString()
    case let value?: "\(value)"
    }
  }
}

extension StoreDump {
  /// The values of one property of all objects of an entity, sorted.
  public func values(_ entity: String, _ property: String) -> [String] {
    objects.filter { $0.key.hasPrefix("\(entity)/") }.compactMap { $0.value[property] }.sorted()
  }
}
