// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Builds a keyed archive.
struct KeyedArchiveBuilder {
  /// The null reference.
  static let null = ArchiveValue.uid(0)

  private var objects: [ArchiveValue] = [.string("$null")]
  private var scalars: [ArchiveValue: ArchiveValue] = [:]
  private var classes: [String: ArchiveValue] = [:]

  /// Returns the archive with the given root object.
  func data(root: ArchiveValue) -> Data {
    BinaryPropertyListWriter.data(
      of: .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$top": .dictionary(["root": root]),
        "$objects": .array(objects),
      ]))
  }

  /// Reserves a place for an object, so that others can refer to it before it is written.
  mutating func reserve() -> ArchiveValue {
    objects.append(.boolean(false))
    return .uid(objects.count - 1)
  }

  /// Writes an object into a reserved place.
  mutating func fill(_ place: ArchiveValue, _ className: String, _ fields: [String: ArchiveValue]) {
    guard case .uid(let position) = place else { preconditionFailure("Only reserved places can be filled.") }
    var fields = fields
    fields["$class"] = reference(toClass: className)
    objects[position] = .dictionary(fields)
  }

  /// Writes an object of another archive into a reserved place.
  mutating func fill(_ place: ArchiveValue, with value: ArchiveValue) {
    guard case .uid(let position) = place else { preconditionFailure("Only reserved places can be filled.") }
    objects[position] = value
  }

  /// Adds an object.
  mutating func add(_ className: String, _ fields: [String: ArchiveValue]) -> ArchiveValue {
    let place = reserve()
    fill(place, className, fields)
    return place
  }

  /// Adds a text, or null.
  mutating func string(_ text: String?) -> ArchiveValue {
    text.map { scalar(.string($0)) } ?? Self.null
  }

  /// Adds a value without a class. Equal values share a place.
  mutating func scalar(_ value: ArchiveValue) -> ArchiveValue {
    if let reference = scalars[value] { return reference }
    objects.append(value)
    let reference = ArchiveValue.uid(objects.count - 1)
    scalars[value] = reference
    return reference
  }

  /// Adds a collection of objects.
  mutating func collection(_ elements: [ArchiveValue], _ className: String = "NSArray") -> ArchiveValue {
    add(className, ["NS.objects": .array(elements)])
  }

  /// Adds a dictionary with strings as keys.
  mutating func dictionary(
    _ entries: [(key: String, value: ArchiveValue)], _ className: String = "NSMutableDictionary"
  ) -> ArchiveValue {
    let keys = entries.map { string($0.key) }
    return add(className, ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.value))])
  }

  private mutating func reference(toClass name: String) -> ArchiveValue {
    if let reference = classes[name] { return reference }
    let line = [name] + (Self.ancestors[name] ?? ["NSObject"])
    objects.append(
      .dictionary(["$classname": .string(name), "$classes": .array(line.map { .string($0) })]))
    let reference = ArchiveValue.uid(objects.count - 1)
    classes[name] = reference
    return reference
  }

  /// The names of Foundation's plain classes.
  static let plainClasses: Set<String> = [
    "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSCountedSet", "NSOrderedSet", "NSMutableOrderedSet",
    "NSDictionary", "NSMutableDictionary", "NSString", "NSMutableString", "NSNumber", "NSDecimalNumber", "NSDate",
    "NSData", "NSMutableData", "NSURL", "NSUUID", "NSNull", "NSAttributedString", "NSMutableAttributedString",
  ]

  /// The superclasses of each class that is not a direct subclass of `NSObject`.
  private static let ancestors: [String: [String]] = [
    "NSAttributeDescription": ["NSPropertyDescription", "NSObject"],
    "NSDerivedAttributeDescription": ["NSAttributeDescription", "NSPropertyDescription", "NSObject"],
    "NSCompositeAttributeDescription": ["NSAttributeDescription", "NSPropertyDescription", "NSObject"],
    "NSRelationshipDescription": ["NSPropertyDescription", "NSObject"],
    "NSFetchedPropertyDescription": ["NSPropertyDescription", "NSObject"],
    "NSFetchRequest": ["NSPersistentStoreRequest", "NSObject"],
    "NSMutableArray": ["NSArray", "NSObject"],
    "NSMutableSet": ["NSSet", "NSObject"],
    "NSCountedSet": ["NSMutableSet", "NSSet", "NSObject"],
    "NSMutableOrderedSet": ["NSOrderedSet", "NSObject"],
    "NSMutableString": ["NSString", "NSObject"],
    "NSMutableData": ["NSData", "NSObject"],
    "NSMutableAttributedString": ["NSAttributedString", "NSObject"],
    "NSMutableDictionary": ["NSDictionary", "NSObject"],
    "NSKnownKeysDictionary1": ["NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary", "NSObject"],
    "NSKnownKeysMappingStrategy1": ["NSKnownKeysMappingStrategy", "NSObject"],
    "NSDecimalNumberPlaceholder": ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"],
    "NSComparisonPredicate": ["NSPredicate", "NSObject"],
    "NSCompoundPredicate": ["NSPredicate", "NSObject"],
    "NSTruePredicate": ["NSPredicate", "NSObject"],
    "NSFalsePredicate": ["NSPredicate", "NSObject"],
    "NSComparisonPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSEqualityPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSSubstringPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSMatchingPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSLikePredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSInPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSBetweenPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSCustomPredicateOperator": ["NSPredicateOperator", "NSObject"],
    "NSKeyPathExpression": ["NSFunctionExpression", "NSExpression", "NSObject"],
    "NSFunctionExpression": ["NSExpression", "NSObject"],
    "NSConstantValueExpression": ["NSExpression", "NSObject"],
    "NSSelfExpression": ["NSExpression", "NSObject"],
    "NSVariableExpression": ["NSExpression", "NSObject"],
    "NSKeyPathSpecifierExpression": ["NSExpression", "NSObject"],
    "NSAggregateExpression": ["NSExpression", "NSObject"],
    "NSAnyKeyExpression": ["NSExpression", "NSObject"],
    "NSSetExpression": ["NSExpression", "NSObject"],
    "NSSubqueryExpression": ["NSExpression", "NSObject"],
    "NSTernaryExpression": ["NSExpression", "NSObject"],
    "NSFetchRequestExpression": ["NSExpression", "NSObject"],
  ]
}
