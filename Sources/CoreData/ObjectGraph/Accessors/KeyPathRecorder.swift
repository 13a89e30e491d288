// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the names in a Swift key path, such as `department.name` for `\Person.department?.name`.
///
/// Without an Objective-C runtime, a key path does not reveal the names of its properties. So it is evaluated on
/// objects without values, whose accessors record what is read and return unusual values. A key path is straight, and
/// has names, if its result is the last value returned and has the type of the last property. Any other key path passes
/// through a computed property.
final class KeyPathRecorder {
  /// The entity of the recording objects.
  static let entity = NSEntityDescription()

  private static let known = Guarded<[AnyKeyPath: String]>([:])

  let samples: Samples
  private var steps: [Step] = []
  /// The object whose property is to be read next; nil at the end of the path.
  private var next: NSManagedObject?
  private var lastAnswer: Any?
  private var isStraight = true
  /// The step whose property is treated as having no value.
  private let missingStep: Int?

  /// One property of a path.
  private struct Step {
    var key: String
    /// The type that the accessor declares; nil for a custom accessor, which has asked for the value by name.
    var declared: Any.Type?
    /// Whether the accessor can express a missing value.
    var canBeMissing: Bool
    /// Whether the model requires a value.
    var isRequired: Bool
  }

  private init(_ samples: Samples, missingStep: Int? = nil) {
    self.samples = samples
    self.missingStep = missingStep
  }

  /// Returns the names in a key path.
  ///
  /// - Throws: `OpaqueCriterion` for a key path that does not start at a class of managed objects, or does not consist
  ///   of properties with accessors over `ManagedProperty`.
  static func key(for keyPath: AnyKeyPath) throws -> String {
    if let known = known.value[keyPath] { return known }
    guard let root = type(of: keyPath).rootType as? NSManagedObject.Type else {
      throw OpaqueCriterion(kind: .swiftKeyPath)
    }
    let recorder = KeyPathRecorder(.first)
    let key = try recorder.key(for: keyPath, root)
    guard try KeyPathRecorder(.other).key(for: keyPath, root) == key else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    if recorder.steps.last?.canBeMissing == true, type(of: keyPath).valueType is any OptionalType.Type {
      let missing = KeyPathRecorder(.first, missingStep: recorder.steps.count - 1)
      guard try missing.key(for: keyPath, root) == key else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    }
    known.update { $0[keyPath] = key }
    return key
  }

  /// Returns the names in a key path for sorting objects.
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
    // The objects retain the recorder.
    defer { (next, lastAnswer) = (nil, nil) }
    let result = start[keyPath: keyPath] ?? nil
    guard isStraight else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    if steps.isEmpty { lastAnswer = start }
    var keys = steps.map(\.key)
    if let last = lastAnswer as? NSManagedObject, let id = Operand.unwrapped(result) as? NSManagedObjectID,
      id == last.objectID
    {
      keys.append("objectID")
    } else {
      guard hasType(type(of: keyPath).valueType), Self.isSame(result, lastAnswer) else {
        throw OpaqueCriterion(kind: .swiftKeyPath)
      }
    }
    return keys.isEmpty ? "self" : keys.joined(separator: ".")
  }

  /// Returns whether a key path of a type can be straight. If a value may be missing and the type is not optional,
  /// something else replaces the value.
  private func hasType(_ type: Any.Type) -> Bool {
    guard let last = steps.last else { return true }
    let isOptional = type is any OptionalType.Type
    if !isOptional, steps.contains(where: { $0.canBeMissing && !$0.isRequired }) { return false }
    guard let declared = last.declared else { return true }
    return Self.withoutOptional(type) == Self.withoutOptional(declared)
  }

  private static func withoutOptional(_ type: Any.Type) -> Any.Type {
    (type as? any OptionalType.Type)?.wrapped ?? type
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

  private func makeObject<Object: NSManagedObject>(_ type: Object.Type) -> Object {
    let object = type.init(entity: Self.entity, insertInto: nil)
    object.recorder = self
    return object
  }
}

/// Return values for accessors.
extension KeyPathRecorder {
  /// Records that a property has been read, and returns its value.
  func answer<Value>(_ value: Value, to property: PropertyAccess, of object: NSManagedObject) -> Value? {
    record(property, of: object)
    return answer(value)
  }

  /// Records that a property of a type without unusual values has been read. The returned value is nil.
  func answerNothing(to property: PropertyAccess, of object: NSManagedObject) {
    record(property, of: object)
    lastAnswer = nil
  }

  /// Records that a relationship has been read, and returns a destination object.
  func answerByObject<Object: NSManagedObject>(
    of type: Object.Type, to property: PropertyAccess, of object: NSManagedObject
  )
    -> Object?
  {
    record(property, of: object)
    return answerByObject(of: type)
  }

  /// Records that a relationship has been read, and returns a set with one member.
  func answerBySet<Member: NSManagedObject>(
    of type: Member.Type, to property: PropertyAccess, of object: NSManagedObject
  )
    -> Set<Member>
  {
    record(property, of: object)
    let set: Set<Member> = [makeObject(type)]
    lastAnswer = set
    return set
  }

  /// Records that a relationship has been read, and returns as many members as it has in the model, one or none, as a
  /// set or an ordered set.
  func answerByMembers<Members: NSObject>(
    _ type: Members.Type, to property: PropertyAccess, of object: NSManagedObject
  ) -> Members? {
    record(property, of: object)
    let relationship = Self.property(steps[steps.count - 1].key, object) as? NSRelationshipDescription
    let members = self.members(relationship)
    return answer((type == NSOrderedSet.self ? NSOrderedSet(array: members) : NSSet(array: members)) as? Members) ?? nil
  }

  /// Records a call of `value(forKey:)`, and returns a value of the property's type in the most recently loaded model.
  func answer(forKey key: String, of object: NSManagedObject) -> Any? {
    let property = Self.property(key, object)
    record(Step(key: key, declared: nil, canBeMissing: true, isRequired: property?.isOptional == false), of: object)
    switch property {
    case let relationship as NSRelationshipDescription where !relationship.isToMany:
      return answerByObject(of: Self.destination(relationship))
    case let relationship as NSRelationshipDescription:
      let members = members(relationship)
      return answer(relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members) as NSObject)
    case let attribute as NSAttributeDescription:
      guard let sample = samples.value(of: attribute.attributeType) else { break }
      return answer(sample)
    default: break
    }
    lastAnswer = nil
    return nil
  }

  private func answer<Value>(_ value: Value) -> Value? {
    let answer = isMissing ? nil : value
    lastAnswer = answer
    return answer
  }

  private func answerByObject<Object: NSManagedObject>(of type: Object.Type) -> Object? {
    let destination = answer(makeObject(type))
    next = destination
    return destination
  }

  private var isMissing: Bool { missingStep == steps.count - 1 }

  private func members(_ relationship: NSRelationshipDescription?) -> [NSManagedObject] {
    relationship.map { [makeObject(Self.destination($0))] } ?? []
  }

  private static func destination(_ relationship: NSRelationshipDescription) -> NSManagedObject.Type {
    relationship.destinationEntity.map { ManagedObjectClasses.of($0) } ?? NSManagedObject.self
  }

  private static func property(_ key: String, _ object: NSManagedObject) -> NSPropertyDescription? {
    ManagedObjectClasses.entity(of: type(of: object))?.propertiesByName[key]
  }

  /// Records an access. An access to `primitiveDate`, as in hand-written accessors, is recorded as `date`.
  private func record(_ access: PropertyAccess, of object: NSManagedObject) {
    let known = ManagedObjectClasses.entity(of: type(of: object))?.propertiesByName
    var step = Step(
      key: access.name, declared: access.declared, canBeMissing: access.declared is any OptionalType.Type,
      isRequired: false)
    if let (upper, lower) = ManagedPropertyName.withoutPrimitive(access.name), known?[access.name] == nil {
      step.key = known?[upper] != nil ? upper : lower
      step.declared = nil
    }
    step.isRequired = known?[step.key]?.isOptional == false
    record(step, of: object)
  }

  private func record(_ step: Step, of object: NSManagedObject) {
    isStraight = isStraight && object === next
    steps.append(step)
    next = nil
  }
}

/// An optional type.
private protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}

/// A collection of managed objects.
private protocol ManagedObjectCollection {
  static var elementType: NSManagedObject.Type { get }
}

extension Array: ManagedObjectCollection where Element: NSManagedObject {
  fileprivate static var elementType: NSManagedObject.Type { Element.self }
}

/// A collection that may be empty, without the type of its elements.
private protocol EmptyCollection {
  static var empty: Any { get }
}

extension Array: EmptyCollection {
  fileprivate static var empty: Any { [Element]() }
}

extension Set: EmptyCollection {
  fileprivate static var empty: Any { Set<Element>() }
}

extension Dictionary: EmptyCollection {
  fileprivate static var empty: Any { [Key: Value]() }
}

extension KeyPathRecorder {
  /// Returns a collection of a type, in an unusual order; nil if the type is not a collection, or has elements of
  /// unknown type.
  func collection<Value>() -> Value? {
    let type = (Value.self as? any OptionalType.Type)?.wrapped ?? Value.self
    if let type = type as? any ManagedObjectCollection.Type {
      return [makeObject(type.elementType), makeObject(type.elementType)] as? Value
    }
    for pair in samples.pairs {
      let dictionary = NSDictionary(object: pair[0], forKey: "key" as NSString)
      let all: [Any] = [pair, NSSet(array: pair), NSOrderedSet(array: pair), dictionary]
      if let value = all.lazy.compactMap({ $0 as? Value }).first { return value }
    }
    return nil
  }

  /// Returns an empty collection of a type whose elements have an unknown type; nil for any other type. It cannot be
  /// distinguished from another collection computed from it, so such a key path has no names.
  func emptyCollection<Value>() -> Value? {
    guard let type = Value.self as? any EmptyCollection.Type else { return nil }
    isStraight = false
    return type.empty as? Value
  }

  /// Unusual values, which no property computes from others.
  struct Samples {
    var number = NSNumber(value: 113)
    var decimal = NSDecimalNumber(value: 113)
    var truth = true
    var string = " The Value of a Kéy Path "
    var date = Date(timeIntervalSinceReferenceDate: 113)
    var data = Data([1, 1, 3])
    var uuid = UUID()
    var url = URL(fileURLWithPath: "/the/value/of/a/key/path")
    var isOther = false

    static let first = Samples()
    /// Values at the opposite extreme of each type, or empty ones.
    static let other = Samples(
      number: -7, decimal: -7, truth: false, string: "", date: Date(timeIntervalSinceReferenceDate: -7e9), data: Data(),
      uuid: UUID(), url: URL(fileURLWithPath: "/"), isOther: true)

    /// Pairs of values of each type, in descending order; in ascending order for `other`.
    fileprivate var pairs: [[Any]] {
      let pairs: [[Any]] = [
        [NSNumber(value: 113), NSNumber(value: -7)], [" The Value of a Kéy Path ", ""],
        [Date(timeIntervalSinceReferenceDate: 113), Date(timeIntervalSinceReferenceDate: -7e9)],
        [Data([1, 1, 3]), Data()], [UUID(), UUID()], [URL(fileURLWithPath: "/the/value"), URL(fileURLWithPath: "/")],
        [NSNumber(value: true), NSNumber(value: false)],
      ]
      return isOther ? pairs.map { $0.reversed() } : pairs
    }

    /// Returns the value of a type; nil if the type has none.
    func value(of type: NSAttributeType) -> Any? {
      switch type {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
        .floatAttributeType:
        number
      case .booleanAttributeType: NSNumber(value: truth)
      case .decimalAttributeType: decimal
      case .stringAttributeType: string
      case .dateAttributeType: date
      case .binaryDataAttributeType: data
      case .UUIDAttributeType: uuid
      case .URIAttributeType: url
      default: nil
      }
    }
  }
}
