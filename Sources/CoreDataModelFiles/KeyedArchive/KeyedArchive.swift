// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
import Foundation

/// A keyed archive: a list of objects that refer to one another by position.
struct KeyedArchive {
  private let objects: [ArchiveValue]
  /// The reference to the root object.
  let rootReference: ArchiveValue
  private let allowance: ReadingAllowance

  /// Opens an archive.
  ///
  /// - Parameter allowance: The limit shared by all archives in a file; nil for a single archive.
  init(_ data: Data, limits: PropertyListLimits = .archive, allowance: ReadingAllowance? = nil) throws {
    try allowance?.use(data.count / 32)
    guard case .dictionary(let archive) = try BinaryPropertyListReader.value(of: data, limits: limits),
      case .array(let objects)? = archive["$objects"], case .dictionary(let top)? = archive["$top"],
      let root = top["root"]
    else { throw ArchiveFailure(kind: .notAnArchive, found: "The property list is not a keyed archive.") }
    self.objects = objects
    rootReference = root
    self.allowance = allowance ?? ReadingAllowance(bytes: data.count)
  }

  func root() throws -> ArchivedObject {
    guard let root = try object(rootReference) else {
      throw ArchiveFailure.broken("The root object of the archive is missing.")
    }
    return root
  }

  /// Returns the value behind a reference, or the value itself; nil for the archive's null.
  func resolved(_ value: ArchiveValue?) throws -> ArchiveValue? {
    guard case .uid(let position)? = value else { return value }
    guard objects.indices.contains(position) else {
      throw ArchiveFailure.broken("A reference leads to object \(position) of \(objects.count).")
    }
    return position == 0 || objects[position] == .string("$null") ? nil : objects[position]
  }

  /// Returns the object behind a reference, or nil for null.
  func object(_ value: ArchiveValue?) throws -> ArchivedObject? {
    guard let resolved = try resolved(value) else { return nil }
    try charge(1)
    guard case .dictionary(let fields) = resolved, let reference = fields["$class"],
      case .dictionary(let description)? = try self.resolved(reference),
      case .string(let name)? = description["$classname"]
    else { throw ArchiveFailure.broken("An object was expected, but something else was found.") }
    var identity: Int?
    if case .uid(let position)? = value { identity = position }
    return ArchivedObject(archive: self, className: name, fields: fields, identity: identity)
  }

  /// Counts visits of objects or elements.
  /// - Throws: `ArchiveFailure` if there were far more visits than the file has bytes.
  func charge(_ visits: Int) throws {
    try allowance.use(visits)
  }

  /// Returns a new archive of an object and everything it refers to.
  func extract(_ value: ArchiveValue) throws -> Data {
    var builder = KeyedArchiveBuilder()
    let root = try graft(value, into: &builder)
    return builder.data(root: root)
  }

  /// Copies an object and everything it refers to into an archive being written.
  func graft(_ value: ArchiveValue, into builder: inout KeyedArchiveBuilder) throws -> ArchiveValue {
    var uids: [Int: ArchiveValue] = [0: KeyedArchiveBuilder.null]
    var waiting: [Int] = []
    func moved(_ value: ArchiveValue, _ builder: inout KeyedArchiveBuilder) throws -> ArchiveValue {
      switch value {
      case .uid(let position):
        if let uid = uids[position] { return uid }
        guard objects.indices.contains(position) else {
          throw ArchiveFailure.broken("A reference leads to object \(position) of \(objects.count).")
        }
        let uid = builder.reserve()
        uids[position] = uid
        waiting.append(position)
        return uid
      case .array(let elements): return .array(try elements.map { try moved($0, &builder) })
      case .dictionary(let entries):
        // A fixed order makes the same object always give the same bytes.
        var copy: [String: ArchiveValue] = [:]
        for (key, value) in entries.sorted(by: { $0.key < $1.key }) { copy[key] = try moved(value, &builder) }
        return .dictionary(copy)
      default: return value
      }
    }
    let root = try moved(value, &builder)
    while let position = waiting.popLast() {
      try charge(1)
      guard let uid = uids[position] else { continue }
      builder.fill(uid, with: try moved(objects[position], &builder))
    }
    return root
  }
}

/// Limits the number of visits of objects in an archive.
///
/// Objects can be shared, so a small malicious archive can describe a tree with an astronomical number of nodes. Real
/// archives visit each object a few times.
final class ReadingAllowance {
  /// The maximum number of visits. Each leaves up to 100 bytes of a document in memory.
  private static let most = 3_000_000

  private var remaining: Int

  init(bytes: Int) {
    remaining = min(100_000 + 16 * bytes, Self.most)
  }

  func use(_ visits: Int) throws {
    remaining -= visits
    guard remaining >= 0 else {
      throw ArchiveFailure.broken("The archive refers to the same objects too many times.")
    }
  }
}

/// An object of a keyed archive.
struct ArchivedObject {
  let archive: KeyedArchive
  let className: String
  let fields: [String: ArchiveValue]
  /// The position of the object, if it was reached by reference.
  let identity: Int?

  /// Returns the object for a key, or nil if it is missing or null.
  func object(_ key: String) throws -> ArchivedObject? {
    try archive.object(fields[key])
  }

  /// Returns the string for a key, or nil if it is missing or null.
  func string(_ key: String) throws -> String? {
    try fields[key].flatMap { try ArchivedValues.string($0, in: archive) }
  }

  /// Returns the integer for a key, or nil if it is missing.
  func integer(_ key: String) throws -> Int64? {
    switch try archive.resolved(fields[key]) {
    case .integer(let number)?: return number
    case .boolean(let flag)?: return flag ? 1 : 0
    case .real(let number)?: return Int64(exactly: number)
    case nil: return nil
    default: throw ArchiveFailure.broken("\(key) of \(className) is not a number.")
    }
  }

  /// Returns the flag for a key, or a default if it is missing.
  func flag(_ key: String, default fallback: Bool = false) throws -> Bool {
    try integer(key).map { $0 != 0 } ?? fallback
  }

  /// Returns the elements of the array or set for a key; empty if it is missing or null.
  func elements(_ key: String) throws -> [ArchiveValue] {
    try object(key).map { try ArchivedValues.elements(of: $0) } ?? []
  }

  /// Returns the entries of the dictionary for a key; empty if it is missing or null.
  func entries(_ key: String) throws -> [(key: String, value: ArchiveValue)] {
    try object(key).map { try ArchivedValues.entries(of: $0) } ?? []
  }
}

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
  mutating func fill(_ uid: ArchiveValue, _ className: String, _ fields: [String: ArchiveValue]) {
    guard case .uid(let position) = uid else { trap("Only reserved places can be filled.") }
    var fields = fields
    fields["$class"] = reference(toClass: className)
    objects[position] = .dictionary(fields)
  }

  /// Writes an object of another archive into a reserved place.
  mutating func fill(_ uid: ArchiveValue, with value: ArchiveValue) {
    guard case .uid(let position) = uid else { trap("Only reserved places can be filled.") }
    objects[position] = value
  }

  /// Adds an object.
  mutating func add(_ className: String, _ fields: [String: ArchiveValue]) -> ArchiveValue {
    let uid = reserve()
    fill(uid, className, fields)
    return uid
  }

  /// Adds a string, or null.
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

  /// Adds a dictionary with string keys.
  mutating func dictionary(
    _ entries: [(key: String, value: ArchiveValue)], _ className: String = "NSMutableDictionary"
  ) -> ArchiveValue {
    let keys = entries.map { string($0.key) }
    return add(className, ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.value))])
  }

  private mutating func reference(toClass name: String) -> ArchiveValue {
    if let reference = classes[name] { return reference }
    let line = [name] + (Self.ancestors[name] ?? ["NSObject"])
    objects.append(.dictionary(["$classname": .string(name), "$classes": .array(line.map { .string($0) })]))
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
