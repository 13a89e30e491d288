// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the names in a Swift key path, such as `department.name` for `\Person.department?.name`.
///
/// Without an Objective-C runtime a key path does not reveal the names of its properties. So it is evaluated, for an object
/// without values whose accessors only record what is read. The answers are unusual values: a key path whose result is not
/// the last answer goes through a property that computes something.
final class KeyPathRecorder {
  /// The entity of objects that only record.
  static let entity = NSEntityDescription()

  private static let known = Guarded<[AnyKeyPath: String]>([:])

  private var keys: [String] = []
  /// The object whose property is to be read next; nil at the end of the path.
  private var next: NSManagedObject?
  private var lastAnswer: Any?
  private var isStraight = true

  /// Returns the names in a key path.
  ///
  /// - Throws: `OpaqueCriterion` for a key path that does not begin with a class of managed objects, or does not consist of
  ///   properties with accessors over `ManagedProperty`.
  static func key(for keyPath: AnyKeyPath) throws -> String {
    if let known = known.value[keyPath] { return known }
    guard let root = type(of: keyPath).rootType as? NSManagedObject.Type else {
      throw OpaqueCriterion(kind: .swiftKeyPath)
    }
    let key = try KeyPathRecorder().key(for: keyPath, root)
    known.update { $0[keyPath] = key }
    return key
  }

  /// Returns the names in a key path that objects can be sorted by.
  ///
  /// - Throws: as `key(for:)`, and for identifiers and objects, which have no order in a store.
  static func sortKey(for keyPath: AnyKeyPath) throws -> String {
    let key = try key(for: keyPath)
    if key == "self" || key == "objectID" || key.hasSuffix(".objectID") { throw OpaqueCriterion(kind: .swiftKeyPath) }
    return key
  }

  private func key(for keyPath: AnyKeyPath, _ root: NSManagedObject.Type) throws -> String {
    let start = makeObject(root)
    next = start
    // The object holds the recorder.
    defer { next = nil }
    let result = start[keyPath: keyPath] ?? nil
    guard isStraight else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    if keys.isEmpty { lastAnswer = start }
    if let last = lastAnswer as? NSManagedObject, let id = Operand.unwrapped(result) as? NSManagedObjectID,
      id == last.objectID
    {
      return (keys + ["objectID"]).joined(separator: ".")
    }
    guard Self.isSame(result, lastAnswer) else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    return keys.isEmpty ? "self" : keys.joined(separator: ".")
  }

  private func makeObject<Object: NSManagedObject>(_ type: Object.Type) -> Object {
    let object = type.init(entity: Self.entity, insertInto: nil)
    object.recorder = self
    return object
  }

  private static func isSame(_ result: Any?, _ answer: Any?) -> Bool {
    let (result, answer) = (Operand.unwrapped(result), Operand.unwrapped(answer))
    guard let result, let answer else { return result == nil && answer == nil }
    if let answer = answer as? NSNumber, let result = Slot.boxed(result) as? NSNumber {
      return answer.doubleValue == result.doubleValue
    }
    if let result = result as? AnyHashable, let answer = answer as? AnyHashable { return result == answer }
    return type(of: result) == type(of: answer)
  }

  /// The property that an accessor reads: `date` where it reads `primitiveDate`, as those do that a program writes.
  private static func property(of key: String, _ type: NSManagedObject.Type) -> String {
    guard let (upper, lower) = ManagedPropertyName.withoutPrimitive(key) else { return key }
    let known = ManagedObjectClasses.entity(of: type)?.propertiesByName
    return known?[key] != nil ? key : known?[upper] != nil ? upper : lower
  }

  private func record(_ key: String, of object: NSManagedObject) {
    isStraight = isStraight && object === next
    keys.append(Self.property(of: key, type(of: object)))
    next = nil
  }
}

/// Answers for accessors.
extension KeyPathRecorder {
  /// Records that a property has been read, and returns its value.
  func answer<Value>(_ value: Value, to key: String, of object: NSManagedObject) -> Value {
    record(key, of: object)
    lastAnswer = value
    return value
  }

  /// Records that a property of a type without unusual values has been read. Its value is nil.
  func answerNothing(to key: String, of object: NSManagedObject) {
    record(key, of: object)
    lastAnswer = nil
  }

  /// Records that a relationship has been read, and returns an object at its other end.
  func answerByObject<Object: NSManagedObject>(of type: Object.Type, to key: String, of object: NSManagedObject)
    -> Object
  {
    record(key, of: object)
    let destination = makeObject(type)
    next = destination
    lastAnswer = destination
    return destination
  }

  /// Records that `value(forKey:)` has been called, and returns a value of the type that the property has in the model that
  /// was loaded last.
  func answer(forKey key: String, of object: NSManagedObject) -> Any? {
    switch ManagedObjectClasses.entity(of: type(of: object))?.propertiesByName[key] {
    case let relationship as NSRelationshipDescription where !relationship.isToMany:
      let type = relationship.destinationEntity.map { ManagedObjectClasses.of($0) } ?? NSManagedObject.self
      return answerByObject(of: type, to: key, of: object)
    case let relationship as NSRelationshipDescription:
      return answer(relationship.isOrdered ? NSOrderedSet() : NSSet() as NSObject, to: key, of: object)
    case let attribute as NSAttributeDescription:
      guard let sample = Self.sample(of: attribute.attributeType) else { break }
      return answer(sample, to: key, of: object)
    default: break
    }
    answerNothing(to: key, of: object)
    return nil
  }

  /// An unusual value of a type; nil if the type has none.
  private static func sample(of type: NSAttributeType) -> Any? {
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
      .floatAttributeType:
      number
    case .booleanAttributeType: NSNumber(value: true)
    case .decimalAttributeType: decimal
    case .stringAttributeType: string
    case .dateAttributeType: date
    case .binaryDataAttributeType: data
    case .UUIDAttributeType: uuid
    case .URIAttributeType: url
    default: nil
    }
  }

  static let number = NSNumber(value: 113)
  static let decimal = NSDecimalNumber(value: 113)
  static let string = "the value of a key path"
  static let date = Date(timeIntervalSinceReferenceDate: 113)
  static let data = Data([1, 1, 3])
  static let uuid = UUID()
  static let url = URL(fileURLWithPath: "/the/value/of/a/key/path")
}
