// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// All objects of a store with their values, as texts that can be compared between two openings of it.
struct ObjectDump: Equatable {
  /// The values by the URI of each object.
  private(set) var objects: [String: String] = [:]

  /// Reads all objects of a context.
  init(_ context: NSManagedObjectContext, _ model: NSManagedObjectModel) throws {
    for entity in model.entities where !entity.isAbstract {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
      request.includesSubentities = false
      for object in try context.fetch(request) {
        objects[object.objectID.uriRepresentation().absoluteString] = Self.text(of: object)
      }
    }
    if context.hasChanges { throw Broken("Reading all objects has changed some.") }
  }

  /// Opens a store, reads all objects, and closes it.
  init(
    _ url: URL, _ type: NSPersistentStore.StoreType = .sqlite, _ model: NSManagedObjectModel, isReadOnly: Bool = false
  ) throws {
    let stack = try FuzzStack(url, type, model, options: isReadOnly ? [NSReadOnlyPersistentStoreOption: true] : [:])
    self = try ObjectDump(stack.context, model)
    try stack.close()
  }

  /// Describes the first object that differs; nil if none does.
  func difference(from old: ObjectDump) -> String? {
    for key in Set(objects.keys).union(old.objects.keys).sorted() where objects[key] != old.objects[key] {
      let place = key.split(separator: "/").suffix(2).joined(separator: "/")
      return "\(place) was \(old.objects[key] ?? "missing") and is \(objects[key] ?? "missing")".prefix(600).description
    }
    return nil
  }

  /// Returns the values of an object, sorted by name.
  static func text(of object: NSManagedObject) -> String {
    var parts: [String] = []
    for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
      parts.append("\(name)=\(text(object.value(forKey: name)))")
    }
    for (name, relationship) in object.entity.relationshipsByName where !relationship.isTransient {
      let ids = object.objectIDs(forRelationshipNamed: name).map { $0.uriRepresentation().lastPathComponent }
      parts.append("\(name)=\(relationship.isOrdered ? ids : ids.sorted())")
    }
    return parts.sorted().joined(separator: ", ")
  }

  /// Returns a value as a text. A part of a composite value that is nil is the same as a missing one.
  static func text(_ value: Any?) -> String {
    switch value {
    case nil, is NSNull: "nil"
    // SQL has one zero.
    case let number as NSNumber: number.doubleValue == 0 ? "0" : number.stringValue
    case let map as NSDictionary:
      "{"
        + map.allKeys.map { "\($0): \(text(map.object(forKey: $0)))" }.filter { !$0.hasSuffix(": nil") }.sorted()
        .joined(separator: ", ") + "}"
    case let data as Data: data.base64EncodedString()
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let value?: "\(value)"
    }
  }
}

/// A coordinator with one store, and a context.
struct FuzzStack {
  let coordinator: NSPersistentStoreCoordinator
  let context: NSManagedObjectContext
  private let store: NSPersistentStore

  init(
    _ url: URL, _ type: NSPersistentStore.StoreType = .sqlite, _ model: NSManagedObjectModel,
    options: [AnyHashable: Any] = [:]
  ) throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    store = try coordinator.addPersistentStore(type: type, at: url, options: options)
    context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
  }

  func close() throws { try coordinator.remove(store) }
}
