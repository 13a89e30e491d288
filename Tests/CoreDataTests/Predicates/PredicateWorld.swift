// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation

@testable import CoreData

/// Values of every type, chosen because they are often treated wrongly.
enum OddValues {
  static let strings = [
    "", "a", "A", "b", "ä", "a\u{308}", "Ä", "Ada", "ada", "ADA", "Zoë", "Zoe\u{308}", "zoe", "é", "e\u{301}", "É", "e",
    "straße", "STRASSE", "ß", "ﬁ", "fi", "İ", "ı", "i", "I", "Σ", "σ", "ς", "a*b", "a?b", "a%b_c", "\\", "日本", "🎉",
    "👨‍👩‍👧", "x y", "10", "9", "file2", "file10", "\u{FFFD}", "\u{10FFFF}", "á\u{323}", "a\u{323}\u{301}",
  ]
  static let patterns = ["*", "?", "a*", "*a", "*e*", "?d?", "a\\*b", "*\\?*", "", "Zo?", "*ß", "ä", "??"]
  static let expressions = [".*", "[A-Z].*", "a", "(?i)ada", "a.*b", "\\d+", "[^a]*", "é|e", ".", ""]
  static let integers: [Int64] = [-3, -1, 0, 1, 2, 3, 5, 7, 30, 255, 1000]
  static let longs: [Int64] = [.min, .max, 0, 1, -1, 1 << 53, 1 << 53 + 1, 1_000_000_007, 42, -5]
  static let reals: [Double] = [
    0, -0.0, 1, -1, 0.5, 0.25, 2.5, -2.75, 30, 1e15, -1e15, 1e300, .infinity, .nan, .leastNonzeroMagnitude,
  ]
  static let decimals = [
    "0", "1", "-1", "0.1", "0.2", "0.3", "10.10", "2.5", "-3.3", "99999.99", "123456789012345", "1e20", "30",
  ]
  static let dates = [-1_000_000.5, -86_400, -1, 0, 0.125, 1, 59.5, 86_400, 1_000_000, 725_000_000.25]
  static let identifiers = [
    "00000000-0000-0000-0000-000000000000", "0F9E8D7C-6B5A-4938-2716-051423324150",
    "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    "80000000-0000-0000-0000-000000000001",
  ]
  static let addresses = [
    "https://example.com/a", "https://example.com/A", "mailto:x@example.com", "file:///tmp/%C3%A9",
  ]
  static let bytes: [[UInt8]] = [[], [0], [0, 255], [255], [97, 98, 99], [97, 98]]

  static func decimal(_ text: String) -> NSDecimalNumber { NSDecimalNumber(string: text) }
}

/// A filled store, and a context that has only read it.
final class PredicateWorld {
  let store: TemporaryStore
  let context: NSManagedObjectContext
  /// The objects of each entity with its subentities, by primary key.
  private(set) var objects: [String: [NSManagedObject]] = [:]

  static let entities = ["Employee", "Manager", "Department", "Project", "Task", "Contract"]

  /// - Parameter kind: the type of the store, one that lasts.
  init(seed: UInt64, _ kind: StoreKind = .sqlite) throws {
    store = try TemporaryStore()
    var random = SeededGenerator(seed: seed)
    let url = kind.url(in: store.folder)
    func context() throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      try coordinator.addPersistentStore(type: kind.type, at: url)
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    let writer = try context()
    try Self.fill(writer, &random)
    try writer.save()
    self.context = try context()
    for name in Self.entities {
      let request = NSFetchRequest<NSManagedObject>(entityName: name)
      request.returnsObjectsAsFaults = false
      objects[name] = try self.context.fetch(request).sorted { $0.objectID.key.number < $1.objectID.key.number }
    }
  }

  /// A value of an attribute's type; nil at times.
  static func value(_ type: NSAttributeType, _ random: inout SeededGenerator) -> Any? {
    if random.next() % 5 == 0 { return nil }
    switch type {
    case .integer16AttributeType, .integer32AttributeType: return OddValues.integers.randomElement(using: &random)
    case .integer64AttributeType: return OddValues.longs.randomElement(using: &random)
    case .booleanAttributeType: return Bool.random(using: &random)
    case .doubleAttributeType: return OddValues.reals.randomElement(using: &random)
    case .floatAttributeType: return OddValues.reals.randomElement(using: &random).map { Float($0) }
    case .decimalAttributeType: return OddValues.decimals.randomElement(using: &random).map(OddValues.decimal)
    case .dateAttributeType:
      return OddValues.dates.randomElement(using: &random).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .stringAttributeType: return OddValues.strings.randomElement(using: &random)
    case .UUIDAttributeType: return OddValues.identifiers.randomElement(using: &random).flatMap(UUID.init)
    case .URIAttributeType: return OddValues.addresses.randomElement(using: &random).flatMap(URL.init)
    case .binaryDataAttributeType: return OddValues.bytes.randomElement(using: &random).map { Data($0) }
    default: return nil
    }
  }

  private static func fill(_ context: NSManagedObjectContext, _ random: inout SeededGenerator) throws {
    var made: [String: [NSManagedObject]] = [:]
    for (name, count) in [("Department", 4), ("Project", 4), ("Task", 6), ("Manager", 4), ("Employee", 12)] {
      for _ in 0..<count {
        let object = context.make(name)
        let attributes = object.entity.attributesByName.values.filter { !$0.isTransient }.sorted { $0.name < $1.name }
        for attribute in attributes {
          let value = value(attribute.attributeType, &random)
          if value != nil || attribute.isOptional { object[attribute.name] = value }
        }
        if object.entity.attributesByName["name"]?.isOptional == false, object["name"] == nil { object["name"] = "" }
        made[name, default: []].append(object)
      }
    }
    made["Employee", default: []] += made["Manager"] ?? []
    var taken: Set<NSManagedObject> = []
    for (name, objects) in made.sorted(by: { $0.key < $1.key }) where name != "Manager" {
      for object in objects {
        for relationship in object.entity.relationshipsByName.values.sorted(by: { $0.name < $1.name }) {
          let others = made[relationship.destinationEntity?.name ?? ""] ?? []
          if relationship.isToMany {
            var some = others.filter { _ in random.next() % 4 == 0 }.shuffled(using: &random)
            // Without an inverse, a member has one owner.
            if relationship.inverseRelationship == nil { some = some.filter { taken.insert($0).inserted } }
            if !some.isEmpty {
              object[relationship.name] = relationship.isOrdered ? NSOrderedSet(array: some) : NSSet(array: some)
            }
          } else if random.next() % 3 != 0, let other = others.randomElement(using: &random) {
            object[relationship.name] = other
          }
        }
      }
    }
    for (index, employee) in (made["Employee"] ?? []).enumerated() where index % 3 == 0 {
      context.make("Contract", ["number": OddValues.longs[index % 10], "employee": employee])
    }
  }
}
