// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Fills and changes a store at random, through the public interface.
package struct GeneratedRows {
  private let document: ModelDocument
  private let shape: ModelShape
  private var random: SeededGenerator
  private var serial = 0

  package init(_ document: ModelDocument, seed: UInt64) {
    self.document = document
    shape = ModelShape(document)
    random = SeededGenerator(seed: seed &+ 77)
    serial = Int(seed % 1000) * 1000
  }

  /// Inserts objects of every entity that can have some, and relates them.
  package mutating func fill(_ context: NSManagedObjectContext, atMost count: Int = 5) throws {
    for entity in document.entities where !entity.isAbstract {
      for _ in 0..<random.number(0...count) {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity.name, into: context)
        setAttributes(of: object, entity.name)
      }
    }
    try context.save()
    for place in try relationshipsToSet() { try relate(place, in: context) }
    try context.save()
  }

  /// Changes, inserts and deletes some objects.
  package mutating func stir(_ context: NSManagedObjectContext) throws {
    for entity in document.entities where !entity.isAbstract {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      let objects = try context.fetch(request).sorted { StoreImage.key($0.objectID) < StoreImage.key($1.objectID) }
      for object in objects {
        switch random.number(1...5) {
        case 1: context.delete(object)
        case 2, 3: setAttributes(of: object, entity.name)
        default: continue
        }
      }
    }
    try context.save()
    try fill(context, atMost: 2)
  }

  private mutating func setAttributes(of object: NSManagedObject, _ entity: String) {
    for (name, attribute) in shape.attributes(of: entity).sorted(by: { $0.key < $1.key })
    where attribute.derivation == nil {
      if attribute.isOptional, random.oneIn(4) {
        object.setValue(nil, forKey: name)
      } else if !random.oneIn(5) || (!attribute.isOptional && attribute.defaultValue == nil) || isUnique(name) {
        object.setValue(value(of: attribute), forKey: name)
      }
    }
  }

  /// Whether a constraint wants the values of an attribute unique, so that several objects must not have its default value.
  private func isUnique(_ name: String) -> Bool {
    document.entities.contains { $0.uniquenessConstraints.contains { $0.contains(name) } }
  }

  /// Numbers are such that most conversions keep them, save for what rounding is about.
  private mutating func value(of attribute: AttributeDocument) -> Any {
    serial += 1
    switch attribute.kind {
    case .integer16: return random.number(-30_000...30_000)
    case .integer32: return random.oneIn(12) ? Int(Int32.max) : random.number(-9...9)
    case .integer64: return random.oneIn(12) ? 9_007_199_254_740_992 : random.number(-9...9)
    case .boolean: return random.oneIn(2)
    case .double: return random.oneIn(20) ? 1e200 : random.oneIn(4) ? 10.11 : Double(random.number(-999...999)) / 4
    case .float: return Float(random.number(-999...999)) / 4
    case .decimal: return NSDecimalNumber(decimal: Decimal(random.number(-9999...9999)) / 100)
    case .date: return Date(timeIntervalSinceReferenceDate: Double(random.number(-1_000_000...1_000_000)) / 8)
    case .binaryData:
      let count = random.oneIn(8) ? 120_000 : random.number(0...40)
      return Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ serial) })
    case .uuid:
      let (high, low) = (random.next(), random.next())
      return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    case .uri: return URL(string: "https://example.com/\(serial)") ?? URL(fileURLWithPath: "/\(serial)")
    default:
      let isUnique = document.entities.contains { !$0.uniquenessConstraints.isEmpty }
      return random.oneIn(12) && !isUnique ? "" : "text \(serial) \u{1F980}"
    }
  }

  /// One relationship of every pair.
  private func relationshipsToSet() throws -> [ModelShape.Place] {
    document.entities.flatMap { entity in
      entity.relationships.filter { !$0.isTransient }.map { ModelShape.Place(entity: entity.name, relationship: $0) }
    }.filter { place in
      guard let inverse = place.relationship.inverseName else { return true }
      let own = (place.relationship.isToMany ? 1 : 0, place.relationship.name, place.entity)
      let destination = place.relationship.destinationEntityName ?? ""
      let other = shape.relationships(of: destination)[inverse]
      return own >= (other?.relationship.isToMany == true ? 1 : 0, inverse, destination)
    }
  }

  private mutating func relate(_ place: ModelShape.Place, in context: NSManagedObjectContext) throws {
    func all(_ entity: String) throws -> [NSManagedObject] {
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
        .sorted { StoreImage.key($0.objectID) < StoreImage.key($1.objectID) }
    }
    let owners = try all(place.entity)
    var targets = try all(place.relationship.destinationEntityName ?? "")
    for owner in owners where !random.oneIn(4) {
      guard place.relationship.isToMany else {
        if let target = random.pick(targets) { owner.setValue(target, forKey: place.relationship.name) }
        continue
      }
      let members = random.some(targets, atMost: 4)
      // A store keeps one owner for each member of a to-many relationship without inverse.
      if place.relationship.inverseName == nil { targets.removeAll { members.contains($0) } }
      let value: Any = place.relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
      owner.setValue(value, forKey: place.relationship.name)
    }
  }
}
