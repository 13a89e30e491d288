// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A subclass of the framework's own that has no validation of values without restrictions in the model.
package protocol ValidatedByModel: NSManagedObject {}

extension NSManagedObject {
  /// Validates all properties, one after another, with `validateValue(_:forKey:)`.
  final func validateProperties() throws {
    fireFault()
    // Values that the program has computed from an unreadable one may be wrong.
    var failures = missedValues.map { attribute, value in
      ValidationErrors.unreadable(.init(attribute, nil, self), value.problem, url: identifier.persistentStore?.url)
    }
    // Only subclasses can override `validateValue`. Otherwise, properties without restrictions in the model are valid.
    let isByModel = type(of: self) == NSManagedObject.self || self is any ValidatedByModel
    let positions = isByModel ? table.restricted + outOfRange() : Array(table.properties.indices)
    for position in positions {
      do {
        let before = needsNoValue(at: position) ? nil : resolvedValue(at: position)
        var value = before
        try validateValue(&value, forKey: table.names[position])
        if !ValidationRules.isSame(before, value) { setValue(value, forKey: table.names[position]) }
      } catch let error as NSError {
        failures.append(error)
      }
    }
    if let error = ValidationErrors.combined(failures) { throw error }
  }

  /// Returns the positions of unrestricted integer attributes whose values are out of their type's range.
  private func outOfRange() -> [Int] {
    table.ranged.filter { !slot(at: $0).isInRange(of: table.kinds[$0]) && !table.restricted.contains($0) }
  }

  /// Returns whether validation can skip reading a value. A relationship that is a fault cannot have changed, and
  /// neither can an unreadable value.
  private func needsNoValue(at position: Int) -> Bool {
    isUnread(at: position) || isUnreadable(at: position)
  }

  private func isUnreadable(at position: Int) -> Bool {
    guard position < table.firstRelationship else { return false }
    let kind = table.kinds[position]
    guard kind == .binaryDataAttributeType || kind == .compositeAttributeType,
      case .object(_ as UnreadableValue) = slot(at: position)
    else { return false }
    return true
  }

  /// Validates a value by the rules of the model.
  final func checkByModel(_ value: Any?, forKey key: String) throws {
    let position = position(of: key)
    switch table.properties[position] {
    case .attribute(let attribute):
      if value == nil, isUnreadable(at: position) { return }
      try ValidationRules.check(value, of: attribute, in: self)
    case .relationship(let relationship):
      if isUnread(at: position) { return }
      try ValidationRules.check(value, of: relationship, in: self)
    }
  }
}

/// The model's rules for values.
enum ValidationRules {
  static func check(_ value: Any?, of attribute: NSAttributeDescription, in object: NSManagedObject) throws {
    guard let value else {
      // A save computes derived attributes.
      if attribute.isOptional || attribute is NSDerivedAttributeDescription { return }
      throw ValidationErrors.missingValue(.init(attribute, value, object))
    }
    if attribute.attributeType.hasRange, let slot = Slot(value, for: attribute), case .integer(let number) = slot,
      !slot.isInRange(of: attribute.attributeType)
    {
      throw ValidationErrors.outOfRange(.init(attribute, value, object), isTooLarge: number > 0)
    }
    if let composite = attribute as? NSCompositeAttributeDescription, let dictionary = value as? NSDictionary {
      for element in composite.elements {
        let value = dictionary[element.name]
        // A composite in another one is stored in its columns alone: without values it is there, and looks missing.
        let parts = (element as? NSCompositeAttributeDescription)?.elements
        if value == nil, parts?.allSatisfy(\.isOptional) == true { continue }
        try check(value, of: element, in: object)
      }
    }
    for rule in attribute.validations {
      do {
        if try rule.isKept(by: value) { continue }
      } catch let failure as EvaluationError {
        throw ValidationErrors.unevaluable(
          .init(attribute, value, object), rule: PredicatePrinter().format(rule.predicate), failure)
      }
      throw violation(of: rule, .init(attribute, value, object))
    }
  }

  static func check(_ value: Any?, of relationship: NSRelationshipDescription, in object: NSManagedObject) throws {
    let subject = ValidationErrors.Subject(relationship, value, object)
    guard relationship.isToMany else {
      if value == nil, !relationship.isOptional { throw ValidationErrors.missingValue(subject) }
      return
    }
    let count =
      Set<NSManagedObject>.exactly(value)?.count ?? (value as? NSOrderedSet)?.count ?? (value as? NSSet)?.count ?? 0
    if count == 0, relationship.isOptional { return }
    // Models of SwiftData, and many of Xcode's, have to-many relationships that are not optional and have no minimum.
    // Stores of such models contain objects without members.
    let minimum = relationship.minCount
    if count < minimum { throw ValidationErrors.tooFew(subject, count: count, minimum: minimum) }
    if relationship.maxCount > 0, count > relationship.maxCount {
      throw ValidationErrors.tooMany(subject, count: count, maximum: relationship.maxCount)
    }
  }

  private static func violation(of rule: ValidationDocument, _ subject: ValidationErrors.Subject) -> NSError {
    var code: Int?
    var text: String?
    switch rule.warning {
    case .integer(let number): code = Int(number)
    case .string(let words): text = words
    default: break
    }
    return ValidationErrors.unmet(
      NSPredicate.make(rule.predicate), rule: PredicatePrinter().format(rule.predicate), code: code, text: text, subject
    )
  }

  /// Returns whether validation has left a value as it was.
  ///
  /// Casts to types that a value does not have take longer than all the rest, hence the look at its type.
  static func isSame(_ a: Any?, _ b: Any?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    let type = Swift.type(of: a)
    guard type == Swift.type(of: b) else { return isEqual(a, b) }
    // Validation that does not change the value returns the same object or set, which may be large.
    if type is AnyClass, (a as AnyObject) === (b as AnyObject) { return true }
    if type == Set<NSManagedObject>.self, let a = a as? Set<NSManagedObject>, let b = b as? Set<NSManagedObject> {
      return a == b
    }
    if type == Date.self, let a = a as? Date, let b = b as? Date { return a == b }
    return isEqual(a, b)
  }

  private static func isEqual(_ a: Any, _ b: Any) -> Bool {
    // Strings that are equal by Unicode's rules may differ.
    if let a = a as? String, let b = b as? String { return a.utf8.elementsEqual(b.utf8) }
    // Foundation compares `NSData` objects byte by byte.
    if let a = a as? Data, let b = b as? Data { return a == b }
    return switch (a, b) {
    case (let a as NSObject, let b as NSObject): a.isEqual(b)
    case (let a as AnyHashable, let b as AnyHashable): a == b
    default: false
    }
  }
}

extension ValidationDocument {
  /// Returns whether a value satisfies the rule.
  ///
  /// - Parameter value: the value in the form in which objects have it; a number as `NSNumber`.
  /// - Throws: the reason why the rule cannot be evaluated.
  package func isKept(by value: Any) throws -> Bool { try PredicateEvaluator().evaluate(predicate, with: value) }
}
