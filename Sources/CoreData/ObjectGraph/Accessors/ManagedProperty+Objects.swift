// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

extension ManagedProperty {
  /// The destination of an object's to-one relationship.
  public subscript<Destination: NSManagedObject>(object: NSManagedObject) -> Destination? where Value == Destination? {
    get { access.destination(of: object) }
    nonmutating set { access.set(newValue, of: object) }
  }

  /// The members of an object's to-many relationship.
  public subscript<Member: NSManagedObject>(object: NSManagedObject) -> Set<Member>? where Value == Set<Member>? {
    get { access.memberSet(object) }
    nonmutating set { access.set(newValue.map { NSSet(array: Array($0)) }, of: object) }
  }

  /// The members of an object's to-many relationship.
  public subscript<Member: NSManagedObject>(object: NSManagedObject) -> Set<Member> where Value == Set<Member> {
    get { access.memberSet(object) }
    nonmutating set { access.set(NSSet(array: Array(newValue)), of: object) }
  }

  /// The property of an object, for any other type: a number object, the value of a transformable attribute, the
  /// objects of a fetched property. Traps if there is no value and the type is not optional.
  @_disfavoredOverload
  public subscript(object: NSManagedObject) -> Value {
    get { access.anything(object) }
    nonmutating set {
      if let optional = newValue as? any PossiblyMissing { return access.set(optional.wrappedIfAny, of: object) }
      access.set(newValue, of: object)
    }
  }
}

extension ManagedProperty where Value: NSManagedObject {
  /// The destination of an object's to-one relationship. Traps if there is none.
  public subscript(object: NSManagedObject) -> Value {
    get { access.require(access.destination(of: object), of: object) }
    nonmutating set { access.set(newValue, of: object) }
  }
}

extension ManagedProperty where Value == NSSet? {
  /// The members of an object's to-many relationship.
  public subscript(object: NSManagedObject) -> NSSet? {
    get { access.members(object, { $0.objectSet }) }
    nonmutating set { access.set(newValue, of: object) }
  }
}

extension ManagedProperty where Value == NSSet {
  /// The members of an object's to-many relationship.
  public subscript(object: NSManagedObject) -> NSSet {
    get { access.members(object, { $0.objectSet }) ?? NSSet() }
    nonmutating set { access.set(newValue, of: object) }
  }
}

extension ManagedProperty where Value == NSOrderedSet? {
  /// The members of an object's ordered to-many relationship.
  public subscript(object: NSManagedObject) -> NSOrderedSet? {
    get { access.members(object, { $0.orderedSet }, areOrdered: true) }
    nonmutating set { access.set(newValue, of: object) }
  }
}

extension ManagedProperty where Value == NSOrderedSet {
  /// The members of an object's ordered to-many relationship.
  public subscript(object: NSManagedObject) -> NSOrderedSet {
    get { access.members(object, { $0.orderedSet }, areOrdered: true) ?? NSOrderedSet() }
    nonmutating set { access.set(newValue, of: object) }
  }
}

/// Relationships, and values of any type.
extension PropertyAccess {
  func destination<Destination: NSManagedObject>(of object: NSManagedObject) -> Destination? {
    if let recorder = object.recorder {
      return recorder.answerByObject(of: Destination.self, to: self, of: object)
    }
    guard let value = value(of: object) else { return nil }
    guard let destination = value as? Destination else { stop(object, wanted: Destination.self, found: value) }
    return destination
  }

  /// Returns the members of a to-many relationship as a Foundation collection.
  ///
  /// - Parameters:
  ///   - collection: creates the collection from the members of a relationship.
  ///   - areOrdered: whether the collection belongs to an ordered relationship.
  func members<Members: NSObject>(
    _ object: NSManagedObject, _ collection: (HeldMembers) -> Members, areOrdered: Bool = false
  ) -> Members? {
    if let recorder = object.recorder { return recorder.answerByMembers(Members.self, to: self, of: object) }
    if let members = heldMembers(object, areOrdered: areOrdered) { return collection(members) }
    guard let value = value(of: object) else { return nil }
    guard let members = value as? Members else { stop(object, wanted: Members.self, found: value) }
    return members
  }

  func memberSet<Member: NSManagedObject>(_ object: NSManagedObject) -> Set<Member> {
    if let recorder = object.recorder { return recorder.answerBySet(of: Member.self, to: self, of: object) }
    if let members = heldMembers(object) {
      if let found = members.typedSet(of: Member.self) { return found }
      stop(object, wanted: Member.self, found: members.objects.first { !($0 is Member) })
    }
    let found: [Any] =
      switch value(of: object) {
      case let set as NSSet: set.allObjects
      case let set as NSOrderedSet: set.array
      case let value?: stop(object, wanted: Set<Member>.self, found: value)
      case nil: []
      }
    return Set(
      found.map { member in
        guard let member = member as? Member else { stop(object, wanted: Member.self, found: member) }
        return member
      })
  }

  /// Reads the members of a to-many relationship; nil for any other property.
  ///
  /// - Parameter areOrdered: whether the relationship must be ordered or unordered; nil for either.
  private func heldMembers(_ object: NSManagedObject, areOrdered: Bool? = nil) -> HeldMembers? {
    guard let location = location(in: object), let found = object.table.areMembersOrdered(at: location.position),
      areOrdered == nil || found == areOrdered
    else { return nil }
    if location.isPrimitive {
      object.fireFault(for: object.table.names[location.position])
      return object.members(at: location.position)
    }
    object.willAccessValue(forKey: name)
    defer { object.didAccessValue(forKey: name) }
    return object.members(at: location.position)
  }

  func anything<Value>(_ object: NSManagedObject) -> Value {
    if let recorder = object.recorder { return anySample(recorder, object) }
    guard let found = value(of: object) else { return require(nothing(), of: object) }
    // A cast does not turn a `Date` into an `NSDate`.
    guard let value = found as? Value ?? Slot.boxed(found) as? Value else {
      stop(object, wanted: Value.self, found: found)
    }
    return value
  }

  func anySample<Value>(_ recorder: KeyPathRecorder, _ object: NSManagedObject) -> Value {
    for sample in [recorder.samples.number, recorder.samples.decimal] where sample is Value {
      if let answer = recorder.answer(sample, to: self, of: object) as? Value ?? nothing() { return answer }
    }
    if let value: Value = recorder.collection() {
      guard let answer = recorder.answer(value, to: self, of: object) ?? nothing() else {
        return require(nil, of: object)
      }
      return answer
    }
    guard let none: Value = nothing() ?? recorder.emptyCollection() else {
      trap(
        "A key path through \(name), of the type \(Value.self), cannot be turned into a string. Write \"\(name)\".")
    }
    recorder.answerNothing(to: self, of: object)
    return none
  }

  /// Returns nil as a value of an optional type; nil for any other type.
  func nothing<Value>() -> Value? { (Value.self as? any PossiblyMissing.Type)?.missing as? Value }
}

/// A type-erased view of `Optional`.
private protocol PossiblyMissing {
  static var missing: Any { get }
  var wrappedIfAny: Any? { get }
}

extension Optional: PossiblyMissing {
  fileprivate static var missing: Any { Wrapped?.none as Any }
  fileprivate var wrappedIfAny: Any? { self }
}
