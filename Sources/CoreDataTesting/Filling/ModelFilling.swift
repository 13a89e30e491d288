// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// An object that is saved without validation.
package final class LenientObject: NSManagedObject {
  package override func validateForInsert() throws {}
  package override func validateForUpdate() throws {}
}

/// Fills a store of any model with values that test its types, and with objects related in every way.
package struct ModelFilling {
  /// The kind of values and relationships.
  package enum Kind: CaseIterable, Sendable {
    /// The limits of every type's range, empty values, and values that look like something else; many values are
    /// missing.
    case extreme
    /// Small values, none of them missing.
    case plain
    /// Like `plain`, but by each relationship an object is related to at most one other.
    case single
  }

  private let document: ModelDocument
  private let shape: ModelShape
  private let kind: Kind
  /// The entities without objects.
  private let leftOut: Set<String>
  private var serial: Int
  /// Values that satisfy the rules of attributes; nil if values need not satisfy them.
  private var valid: ValidValues?
  /// Returns a value for an attribute, by the names of the entity and the attribute, a number of the value and the number
  /// of the row; nil for a value by the attribute's type.
  package var sample: ((_ entity: String, _ attribute: String, _ number: Int, _ row: Int) throws -> Any?)?

  /// Creates a filling.
  ///
  /// - Parameters:
  ///   - leftOut: the entities without objects.
  ///   - first: the seed of the values.
  ///   - keepsRules: whether values satisfy the validation rules of the model.
  package init(
    _ document: ModelDocument, _ kind: Kind, without leftOut: Set<String> = [], first: Int = 0, keepsRules: Bool = false
  ) {
    self.document = document
    serial = first
    valid = keepsRules ? ValidValues() : nil
    self.kind = kind
    self.leftOut = leftOut
    shape = ModelShape(document)
  }

  /// Returns the model with objects that are saved without validation.
  package static func lenient(_ document: ModelDocument) throws -> NSManagedObjectModel {
    ManagedObjectClasses.register(LenientObject.self, as: "LenientObject")
    var copy = document
    for position in copy.entities.indices { copy.entities[position].className = "LenientObject" }
    return try NSManagedObjectModel(document: copy)
  }

  /// Inserts and relates objects of every entity that can have any.
  package mutating func fill(_ context: NSManagedObjectContext) throws {
    var objects: [String: [NSManagedObject]] = [:]
    for entity in document.entities where !entity.isAbstract && !leftOut.contains(entity.name) {
      for number in 0..<4 {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity.name, into: context)
        for (name, attribute) in shape.attributes(of: entity.name).sorted(by: { $0.key < $1.key })
        where attribute.derivation == nil {
          var value = value(of: attribute, number, entity.name)
          if value != nil || !attribute.isOptional, let given = try sample?(entity.name, name, serial, number) {
            value = given
          }
          object.setValue(try valid?.value(like: value, object.entity, name, serial) ?? value, forKey: name)
        }
        objects[entity.name, default: []].append(object)
      }
    }
    // Objects that satisfy the rules need their relationships before they are saved.
    if valid == nil { try context.save() }
    for entity in document.entities {
      for relationship in entity.relationships where !relationship.isTransient && isTurn(relationship, entity.name) {
        relate(relationship, all(entity.name, objects), all(relationship.destinationEntityName ?? "", objects))
      }
    }
    if valid != nil { try removeInvalid(context) }
    try context.save()
  }

  /// Deletes objects whose required relationships could not be filled, until all objects satisfy the rules.
  ///
  /// - Throws: the error of the last object if none is left.
  private func removeInvalid(_ context: NSManagedObjectContext) throws {
    var problem: (any Error)?
    while true {
      let invalid = context.insertedObjects.filter { object in
        do {
          try object.validateForInsert()
          return false
        } catch {
          problem = error
          return true
        }
      }
      guard !invalid.isEmpty else { break }
      invalid.forEach(context.delete)
      context.processPendingChanges()
    }
    if let problem, context.insertedObjects.isEmpty { throw problem }
  }

  private func all(_ entity: String, _ objects: [String: [NSManagedObject]]) -> [NSManagedObject] {
    document.entities.filter { shape.isKind($0.name, of: entity) }.flatMap { objects[$0.name] ?? [] }
  }

  /// Whether this relationship of a pair is the one to set: the to-many one, or the last by name.
  private func isTurn(_ relationship: RelationshipDocument, _ entity: String) -> Bool {
    let destination = relationship.destinationEntityName ?? ""
    guard let name = relationship.inverseName,
      let inverse = shape.relationships(of: destination)[name]
    else { return true }
    let own = (relationship.isToMany ? 1 : 0, relationship.name, entity)
    return own >= (inverse.relationship.isToMany ? 1 : 0, name, inverse.entity)
  }

  private mutating func relate(
    _ relationship: RelationshipDocument, _ owners: [NSManagedObject], _ targets: [NSManagedObject]
  ) {
    guard !targets.isEmpty else { return }
    let inverse = relationship.inverseName.flatMap {
      shape.relationships(of: relationship.destinationEntityName ?? "")[$0]
    }
    let isShared = kind != .single && inverse?.relationship.isToMany ?? !relationship.isToMany
    var free = targets
    for (position, owner) in owners.enumerated() {
      // Some objects have no value.
      if kind == .extreme, position % 5 == 4 { continue }
      if !relationship.isToMany {
        guard let target = isShared ? targets[position * 2 % targets.count] : free.popLast() else { continue }
        owner.setValue(target, forKey: relationship.name)
        continue
      }
      var members: [NSManagedObject] = []
      for offset in 0..<(kind == .single ? 1 : 3) {
        guard let member = isShared ? targets[(position + offset * 2) % targets.count] : free.popLast() else { break }
        if !members.contains(member) { members.append(member) }
      }
      if position % 2 == 1 { members.reverse() }
      let value: Any = relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
      owner.setValue(value, forKey: relationship.name)
    }
  }

  // MARK: Values

  private mutating func value(of attribute: AttributeDocument, _ number: Int, _ entity: String) -> Any? {
    serial += 1
    if kind == .extreme, attribute.isOptional, (serial + number) % 4 == 0 { return nil }
    if attribute.kind == .composite {
      var parts: [String: Any] = [:]
      for element in attribute.elements { parts[element.name] = value(of: element, number, entity) }
      return parts
    }
    return kind == .extreme && !isConstrained(attribute.name, entity)
      ? extreme(attribute, number) : plain(attribute)
  }

  private func isConstrained(_ attribute: String, _ entity: String) -> Bool {
    document.entities.contains { other in
      shape.isKind(entity, of: other.name) && other.uniquenessConstraints.contains { $0.contains(attribute) }
    }
  }

  private func plain(_ attribute: AttributeDocument) -> Any? {
    switch attribute.kind {
    case .integer16, .integer32, .integer64: return serial
    case .boolean: return serial % 2 == 0
    case .double, .float: return Double(serial) + 0.25
    case .decimal: return NSDecimalNumber(decimal: Decimal(serial) + Decimal(25) / 100)
    case .string: return "text \(serial)"
    case .date: return Date(timeIntervalSinceReferenceDate: Double(serial) + 0.5)
    case .binaryData: return Data([UInt8(truncatingIfNeeded: serial), UInt8(truncatingIfNeeded: serial >> 8)])
    case .uuid: return identifier()
    case .uri: return URL(string: "https://example.com/\(serial)")
    case .transformable: return transformable(attribute)
    case .undefined, .objectID, .composite: return nil
    }
  }

  /// Returns a value that the attribute's transformer can archive; nil if only the app can create one.
  private func transformable(_ attribute: AttributeDocument) -> Any? {
    let text = "transformed \(serial)" as NSString
    guard let name = attribute.valueTransformerName.map({ ValueTransformer.Name($0) }),
      !Self.archivingTransformers.contains(name), let transformer = ValueTransformer(forName: name)
    else { return text }
    // Other transformers may expect values of a specific class.
    guard let archiver = transformer as? NSSecureUnarchiveFromDataTransformer else { return nil }
    let samples: [NSObject] = [
      text, NSNumber(value: serial), NSDate(timeIntervalSinceReferenceDate: Double(serial)), NSData(data: Data([1])),
      NSArray(array: [text]), NSDictionary(dictionary: ["key": text]), NSSet(array: [text]),
    ]
    return samples.first { sample in
      type(of: archiver).allowedTopLevelClasses.contains { sample.isKind(of: $0) }
        && archiver.reverseTransformedValue(sample) is Data
    }
  }

  /// The framework's transformers that can archive every value.
  private static let archivingTransformers: Set<ValueTransformer.Name> = [
    .secureUnarchiveFromDataTransformerName, .keyedUnarchiveFromDataTransformerName,
    .unarchiveFromDataTransformerName,
  ]

  private func identifier() -> UUID {
    withUnsafeBytes(of: (UInt64(serial), UInt64(4))) { UUID(uuid: $0.load(as: uuid_t.self)) }
  }

  private func extreme(_ attribute: AttributeDocument, _ number: Int) -> Any? {
    switch attribute.kind {
    case .integer16: return [Int(Int16.max), Int(Int16.min), 0, -1][number % 4]
    case .integer32: return [Int(Int32.max), Int(Int32.min), 0, -1][number % 4]
    case .integer64: return [Int(Int64.max), Int(Int64.min), 0, -1][number % 4]
    case .double:
      return [Double.greatestFiniteMagnitude, -Double.leastNonzeroMagnitude, 0.1 + 0.2, -1e15][number % 4]
    case .float: return [Float.greatestFiniteMagnitude, -Float.leastNonzeroMagnitude, 243.61, 0][number % 4]
    case .decimal:
      let texts = ["10.11", "-99999999999999", "0.000001", "0"]
      return NSDecimalNumber(string: texts[number % 4])
    case .string:
      return ["", "1e400", "\u{1F980} 'quoted' \"twice\"\n", String(repeating: "long ", count: 2000)][number % 4]
    case .date:
      return [
        Date.distantPast, Date.distantFuture, Date(timeIntervalSinceReferenceDate: 0),
        Date(timeIntervalSince1970: 0.125),
      ][
        number % 4]
    // The third value has the first bytes and the length of a column that references a file.
    case .binaryData:
      return [
        Data(), Data([1]), Data([2]) + Data(UUID().uuidString.utf8) + Data([0]),
        Data(repeating: UInt8(truncatingIfNeeded: serial), count: 120_000),
      ][number % 4]
    case .boolean, .uuid, .uri, .transformable, .undefined, .objectID, .composite: return plain(attribute)
    }
  }
}
