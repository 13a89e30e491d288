// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Collects the objects of a keyed archive that is written.
struct KeyedArchiveBuilder {
  /// The reference to nothing.
  static let null = ArchiveValue.uid(0)

  private var objects: [ArchiveValue] = [.string("$null")]
  private var scalars: [ArchiveValue: ArchiveValue] = [:]
  private var classes: [String: ArchiveValue] = [:]

  /// The archive with this object at the root.
  func data(root: ArchiveValue) -> Data {
    BinaryPropertyListWriter.data(
      of: .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$top": .dictionary(["root": root]),
        "$objects": .array(objects),
      ]))
  }

  /// A place for an object that others refer to before it is written.
  mutating func reserve() -> ArchiveValue {
    objects.append(.boolean(false))
    return .uid(objects.count - 1)
  }

  /// Writes an object into its place.
  mutating func fill(_ place: ArchiveValue, _ className: String, _ fields: [String: ArchiveValue]) {
    guard case .uid(let position) = place else { preconditionFailure("Only reserved places can be filled.") }
    var fields = fields
    fields["$class"] = reference(toClass: className)
    objects[position] = .dictionary(fields)
  }

  /// Puts what stood in another archive into a place.
  mutating func fill(_ place: ArchiveValue, with value: ArchiveValue) {
    guard case .uid(let position) = place else { preconditionFailure("Only reserved places can be filled.") }
    objects[position] = value
  }

  /// Writes an object.
  mutating func add(_ className: String, _ fields: [String: ArchiveValue]) -> ArchiveValue {
    let place = reserve()
    fill(place, className, fields)
    return place
  }

  /// A text, or null.
  mutating func string(_ text: String?) -> ArchiveValue {
    text.map { scalar(.string($0)) } ?? Self.null
  }

  /// A value without a class; equal ones share a place.
  mutating func scalar(_ value: ArchiveValue) -> ArchiveValue {
    if let reference = scalars[value] { return reference }
    objects.append(value)
    let reference = ArchiveValue.uid(objects.count - 1)
    scalars[value] = reference
    return reference
  }

  /// A collection of objects.
  mutating func collection(_ elements: [ArchiveValue], _ className: String = "NSArray") -> ArchiveValue {
    add(className, ["NS.objects": .array(elements)])
  }

  /// A dictionary with texts as keys.
  mutating func dictionary(
    _ entries: [(key: String, value: ArchiveValue)], _ className: String = "NSMutableDictionary"
  ) -> ArchiveValue {
    let keys = entries.map { string($0.key) }
    return add(className, ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.value))])
  }

  /// A plain value with the class that Foundation would archive it with.
  mutating func plain(_ value: PlainValue) throws -> ArchiveValue {
    switch value {
    case .null: return add("NSNull", [:])
    case .boolean(let flag): return scalar(.boolean(flag))
    case .integer(let number): return scalar(.integer(number))
    case .real(let number): return scalar(.real(number))
    case .decimal(let number): return add("NSDecimalNumberPlaceholder", ArchivedDecimal.fields(of: number))
    case .string(let text): return string(text)
    case .date(let date): return add("NSDate", ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
    case .data(let data): return scalar(.data(data))
    case .uuid(let uuid):
      return add("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })])
    case .url(let url): return add("NSURL", ["NS.base": Self.null, "NS.relative": string(url.absoluteString)])
    case .array(let elements): return collection(try elements.map { try plain($0) })
    case .set(let elements): return collection(try elements.map { try plain($0) }, "NSSet")
    case .dictionary(let entries):
      let sorted = try entries.sorted { $0.key < $1.key }.map { (key: $0.key, value: try plain($0.value)) }
      return dictionary(sorted, "NSDictionary")
    case .object(let object): return try instance(object.value.base)
    }
  }

  /// An object of a class that is not one of Foundation's plain ones, as it came or as it archives itself.
  private mutating func instance(_ object: Any) throws -> ArchiveValue {
    let data: Data
    if let kept = object as? ArchivedInstance {
      data = kept.archive
    } else {
      do {
        data = try ObjectArchiveWriter.data(of: object) { name in
          guard let object = object as? any NSSecureCoding, String(reflecting: type(of: object)) == name else {
            return nil
          }
          return type(of: object)
        }
      } catch let problem as ObjectArchiveWriter.Problem {
        throw ModelFileError(
          .unreadableValue, found: "A value cannot be written: \(problem.description).",
          advice: "Have its class support secure coding, or use numbers, texts, dates and such in models.")
      }
    }
    do {
      let archive = try KeyedArchive(data)
      return try archive.graft(archive.rootReference, into: &self)
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
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

  /// Foundation's plain classes.
  static let plainClasses: Set<String> = [
    "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSCountedSet", "NSOrderedSet", "NSMutableOrderedSet",
    "NSDictionary", "NSMutableDictionary", "NSString", "NSMutableString", "NSNumber", "NSDecimalNumber", "NSDate",
    "NSData", "NSMutableData", "NSURL", "NSUUID", "NSNull", "NSAttributedString", "NSMutableAttributedString",
  ]

  /// The classes above each class that is not a direct subclass of `NSObject`.
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
