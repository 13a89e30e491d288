// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Writes and reads the generated properties of a model's classes through a store.
///
/// `check.sh` adds a file that calls `check` for each class, and `finish` at the end.
final class Harness {
  private let model: NSManagedObjectModel
  private var checks: [(entity: NSEntityDescription, isClass: (AnyClass) -> Bool, probes: [Probe])] = []
  private var failures: [String] = []
  private var counts: [String: Int] = [:]

  init() {
    guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1])) else {
      fatalError("The model \(CommandLine.arguments[1]) cannot be read.")
    }
    self.model = model
    // The samples fit the types only.
    for entity in model.entities {
      for property in entity.properties where entity.superentity?.propertiesByName[property.name] == nil {
        property.isOptional = true
        property.setValidationPredicates([], withValidationWarnings: [])
        guard let relationship = property as? NSRelationshipDescription else { continue }
        relationship.minCount = 0
        if relationship.isToMany { relationship.maxCount = 0 }
      }
    }
    for entity in model.entities { entity.uniquenessConstraints = [] }
  }

  func check<Object: NSManagedObject>(_ entity: String, _ type: Object.Type, _ probes: [Probe]) {
    guard let description = model.entitiesByName[entity] else { return failures.append("\(entity): no such entity") }
    description.managedObjectClassName = NSStringFromClass(type)
    checks.append((description, { $0 is Object.Type }, probes))
  }

  /// Runs the checks, prints what was checked, and ends the program.
  func finish() throws -> Never {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("S.sqlite"), options: nil)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    for (entity, isClass, probes) in checks {
      if let concrete = concrete(entity, isClass) {
        try run(probes, of: concrete, in: context)
      } else {
        counts["of abstract entities", default: 0] += probes.count
      }
    }
    try FileManager.default.removeItem(at: folder)
    let text = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ";")
    print("\(checks.count) classes;\(text)")
    for failure in failures { print("FAILED \(failure)") }
    exit(failures.isEmpty ? 0 : 1)
  }

  /// Returns an entity whose objects can be made, the entity itself or one below it.
  ///
  /// - Parameter isClass: whether the objects have a class that fits.
  private func concrete(
    _ entity: NSEntityDescription, _ isClass: (AnyClass) -> Bool = { _ in true }
  ) -> NSEntityDescription? {
    if !entity.isAbstract {
      return NSClassFromString(entity.managedObjectClassName).map(isClass) == true ? entity : nil
    }
    return entity.subentities.compactMap { self.concrete($0, isClass) }.first
  }

  private func run(_ probes: [Probe], of entity: NSEntityDescription, in context: NSManagedObjectContext) throws {
    var written: [(probe: Probe, object: NSManagedObject, value: Any)] = []
    for probe in probes {
      let name = "\(entity.name ?? "").\(probe.key)"
      guard let property = entity.propertiesByName[probe.key], !(property is NSDerivedAttributeDescription) else {
        counts["derived", default: 0] += 1
        continue
      }
      guard let sample = sample(of: probe.type, for: property, in: context) else {
        counts["fetched or of the app's own types", default: 0] += 1
        continue
      }
      let object = NSEntityDescription.insertNewObject(forEntityName: entity.name ?? "", into: context)
      guard probe.set(object, sample), let found = probe.get(object), plain(found) == plain(sample) else {
        failures.append("\(name) is \(String(describing: probe.get(object))), and should be \(sample)")
        continue
      }
      if property.isTransient {
        counts["transient", default: 0] += 1
      } else {
        written.append((probe, object, sample))
      }
    }
    try context.save()
    let expected = written.map { ($0.probe, $0.object.objectID, plain($0.value)) }
    context.reset()
    for (probe, id, value) in expected {
      let found = probe.get(try context.existingObject(with: id))
      if found.map(plain) == value {
        counts["stored", default: 0] += 1
      } else {
        failures.append("\(entity.name ?? "").\(probe.key) was stored as \(value), and read as \(found ?? "nil")")
      }
    }
  }

  /// A value in a form that can be compared after the objects have been read again.
  private func plain(_ value: Any) -> NSObject {
    switch value {
    case let object as NSManagedObject: object.objectID
    case let set as NSSet: NSSet(array: set.map { plain($0) })
    case let set as NSOrderedSet: set.map { plain($0) } as NSArray
    case let object as NSObject: object
    case let string as String: string as NSString
    case let number as any BinaryInteger: NSNumber(value: Int64(number))
    case let number as Double: NSNumber(value: number)
    case let number as Float: NSNumber(value: number)
    case let flag as Bool: NSNumber(value: flag)
    case let date as Date: date as NSDate
    case let data as Data: data as NSData
    case let id as UUID: id as NSUUID
    case let url as URL: url as NSURL
    case let values as [Any]: values.map { plain($0) } as NSArray
    case let values as [String: Any]: values.mapValues { plain($0) } as NSDictionary
    case let values as Set<NSManagedObject>: NSSet(array: values.map { $0.objectID })
    default: "\(value)" as NSString
    }
  }

  /// Returns a value for a property; nil if only the app could make one.
  private func sample(of type: Any.Type, for property: NSPropertyDescription, in context: NSManagedObjectContext)
    -> Any?
  {
    if let relationship = property as? NSRelationshipDescription {
      guard let entity = relationship.destinationEntity.flatMap({ concrete($0) }), let name = entity.name else {
        return nil
      }
      let objects = (0..<2).map { _ in NSEntityDescription.insertNewObject(forEntityName: name, into: context) }
      guard relationship.isToMany else { return objects[0] }
      return relationship.isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
    }
    switch (type as? any Wrapping.Type)?.wrapped ?? type {
    case is String.Type: return "Ünicode"
    case is Int16.Type: return Int16(-7)
    case is Int32.Type: return Int32(70_000)
    case is Int64.Type: return Int64(5_000_000_000)
    case is Double.Type: return 1.25
    case is Float.Type: return Float(2.5)
    case is Bool.Type: return true
    case is Date.Type: return Date(timeIntervalSinceReferenceDate: 12_345.5)
    case is Data.Type: return Data([0, 1, 255])
    case is UUID.Type: return UUID()
    case is URL.Type: return URL(string: "https://example.com/a")
    case is NSDecimalNumber.Type: return NSDecimalNumber(string: "12.75")
    case is NSNumber.Type: return number(for: property)
    case is NSObject.Type: return type == Optional<NSObject>.self ? ["a", "b"] as NSArray : nil
    case is [String].Type: return ["a", "b"]
    default: return nil
    }
  }

  private func number(for property: NSPropertyDescription) -> NSNumber? {
    switch (property as? NSAttributeDescription)?.attributeType {
    case .booleanAttributeType: true
    case .floatAttributeType: NSNumber(value: Float(2.5))
    case .doubleAttributeType: 1.25
    default: 7
    }
  }
}

/// A generated property, whatever its type is.
struct Probe {
  let key: String
  let type: Any.Type
  let get: (NSManagedObject) -> Any?
  let set: (NSManagedObject, Any) -> Bool

  init<Object: NSManagedObject, Value>(_ key: String, _ path: ReferenceWritableKeyPath<Object, Value>) {
    self.key = key
    type = Value.self
    get = { object in
      guard let object = object as? Object else { return nil }
      let value: Any = object[keyPath: path]
      return (value as? any Wrapping).map(\.content) ?? value
    }
    set = { object, value in
      guard let object = object as? Object, let value = value as? Value else { return false }
      object[keyPath: path] = value
      return true
    }
  }
}

/// An optional value.
protocol Wrapping {
  static var wrapped: Any.Type { get }
  var content: Any? { get }
}

extension Optional: Wrapping {
  static var wrapped: Any.Type { Wrapped.self }
  var content: Any? { self }
}
