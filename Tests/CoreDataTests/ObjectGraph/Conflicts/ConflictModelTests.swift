// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Random changes of two contexts, of which the second saves over those of the first")
struct ConflictModelTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    for name in ["Person", "Desk", "Tag", "Box", "Item"] {
      builder.entity(name, [.make("name", .stringAttributeType), .make("size", .integer32AttributeType)])
    }
    builder.entity("Chief", parent: "Person")
    builder.relate(.init("Person", "reports", toMany: true), .init("Person", "boss"))
    builder.relate(.init("Person", "spouse"), .init("Person", "spouse"))
    builder.relate(.init("Person", "desk"), .init("Desk", "owner"))
    builder.relate(.init("Chief", "tags", toMany: true), .init("Tag", "people", toMany: true))
    builder.relate(.init("Box", "items", toMany: true, ordered: true, rule: .cascadeDeleteRule), .init("Item", "box"))
    builder.relate(
      .init("Person", "boxes", toMany: true, rule: .denyDeleteRule), .init("Box", "owner"))
    builder.relate(
      .init("Box", "extras", toMany: true, ordered: true), .init("Item", "places", toMany: true, ordered: true))
    return builder.model()
  }

  /// Makes a change that depends on the generator alone.
  private func change(
    _ context: NSManagedObjectContext, _ random: inout SeededGenerator, deletes: Bool = true
  ) throws {
    func pick(_ entity: String) throws -> NSManagedObject? {
      try context.all(entity).randomElement(using: &random)
    }
    guard let person = try pick("Person"), let other = try pick("Person"), let box = try pick("Box"),
      let item = try pick("Item")
    else { return }
    switch random.next() % (deletes ? 20 : 16) {
    case 0: context.make("Person", ["name": "n\(random.next() % 1000)", "boss": other])
    case 1: context.make("Item", ["name": "i\(random.next() % 1000)", "box": box])
    case 2: person["size"] = Int(random.next() % 100)
    case 3: item["size"] = Int(random.next() % 100)
    case 4, 5: person["boss"] = random.next() % 3 == 0 ? nil : other
    case 6: person["spouse"] = person === other ? nil : other
    case 7, 8: person["desk"] = try pick("Desk")
    case 9: try pick("Desk")?.setValue(random.next() % 2 == 0 ? person : nil, forKey: "owner")
    case 10:
      if let tag = try pick("Tag") { (try pick("Chief"))?.mutableSetValue(forKey: "tags").add(tag) }
    case 11: (try pick("Chief"))?.mutableSetValue(forKey: "tags").removeAllObjects()
    case 12: item["box"] = random.next() % 3 == 0 ? nil : box
    case 13: box["owner"] = person
    case 14:
      let extras = box.mutableOrderedSetValue(forKey: "extras")
      extras.insert(item, at: extras.count == 0 ? 0 : Int(random.next() % UInt64(extras.count)))
    case 15:
      let items = box.mutableOrderedSetValue(forKey: "items")
      if items.count > 1 { items.moveObjects(at: [items.count - 1], to: 0) }
    case 16: context.delete(person)
    case 17: context.delete(item)
    case 18: context.delete(box)
    default:
      if let object = try [pick("Desk"), pick("Tag")].compactMap({ $0 }).randomElement(using: &random) {
        if random.next() % 2 == 0 { context.delete(object) } else { object["size"] = Int(random.next() % 100) }
      }
    }
  }

  /// Returns what is wrong with the relationships in the store: both ends must tell the same, of objects that exist.
  private func problems(in bench: StoreKindBench) throws -> [String] {
    let context = bench.context()
    let entities = ["Person", "Desk", "Tag", "Box", "Item"]
    let all = try entities.flatMap { try context.all($0) }
    let known = Set(all.map(\.objectID))
    var problems: [String] = []
    for object in all {
      for (name, relationship) in object.entity.relationshipsByName {
        guard let inverse = relationship.inverseRelationship else { continue }
        for id in object.objectIDs(forRelationshipNamed: name) {
          let place = "\(object.entity.name ?? "").\(name)"
          guard known.contains(id) else {
            problems.append("\(place) leads to a row that is gone")
            continue
          }
          if !context.object(with: id).objectIDs(forRelationshipNamed: inverse.name).contains(object.objectID) {
            problems.append("\(place) is not among \(inverse.name)")
          }
        }
      }
    }
    return problems.sorted()
  }

  /// Returns what the context says otherwise than the store of objects that it has just saved.
  private func differences(_ saved: Set<NSManagedObject>, _ bench: StoreKindBench) throws -> [String] {
    let fresh = bench.context()
    var found: [String] = []
    for object in saved where object.managedObjectContext != nil && !object.isFault {
      guard let stored = try? fresh.existingObject(with: object.objectID) else {  // Reported as a difference.
        found.append("\(object.entity.name ?? "") is gone")
        continue
      }
      for (name, relationship) in object.entity.relationshipsByName where !object.hasFault(forRelationshipNamed: name) {
        let (mine, theirs) = (
          object.objectIDs(forRelationshipNamed: name), stored.objectIDs(forRelationshipNamed: name)
        )
        let isSame = relationship.isToMany ? mine.allSatisfy { theirs.contains($0) } : mine == theirs
        if !isSame { found.append("\(object.entity.name ?? "").\(name)") }
      }
    }
    return found.sorted()
  }

  @Test(
    "Leave no reference to a row that is gone, and relationships whose ends agree",
    arguments: StoreKind.allCases.filter { $0 != .incremental }, 1...4 as ClosedRange<UInt>)
  func random(_ kind: StoreKind, _ type: UInt) throws {
    let policy = try #require(NSMergePolicyType(rawValue: type))
    let seeds = TortureSize.isFull ? 6 : 2
    for seed in 1...UInt64(kind == .postgreSQL ? seeds / 2 : seeds) {
      var random = SeededGenerator(seed: seed)
      let bench = try StoreKindBench(kind, Self.model)
      let setUp = bench.context()
      for number in 0..<4 {
        for entity in ["Person", "Desk", "Box"] { setUp.make(entity, ["name": "\(entity)\(number)"]) }
        setUp.make("Chief", ["name": "Chief\(number)"])
        setUp.make("Tag", ["name": "Tag\(number)"])
        for part in 0..<2 { setUp.make("Item", ["name": "Item\(number)\(part)"]) }
      }
      try setUp.save()
      for _ in 0..<40 { try change(setUp, &random, deletes: false) }
      try setUp.save()
      #expect(try problems(in: bench) == [], "seed \(seed), at the beginning")
      for round in 0..<6 {
        let (first, second) = (bench.context(), bench.context())
        first.mergePolicy = NSMergePolicy.overwrite
        second.mergePolicy = NSMergePolicy(merge: policy)
        for object in try ["Person", "Desk", "Tag", "Box", "Item"].flatMap({ try second.all($0) }) {
          for name in object.entity.relationshipsByName.keys.sorted() where random.next() % 2 == 0 {
            _ = object.value(forKey: name)
          }
        }
        for _ in 0..<Int.random(in: 1...6, using: &random) { try change(first, &random) }
        for _ in 0..<Int.random(in: 1...6, using: &random) { try change(second, &random) }
        do { try first.save() } catch { continue }
        second.processPendingChanges()
        let saved = second.insertedObjects.union(second.updatedObjects).filter { !$0.changedValues().isEmpty }
        var hasSaved = true
        do {
          try second.save()
        } catch let error as NSError {
          #expect([1600, 1570, 1560].contains(error.code), "seed \(seed), round \(round): \(error)")
          second.rollback()
          hasSaved = false
        }
        let problems = try problems(in: bench)
        let differences = hasSaved ? try differences(saved, bench) : []
        #expect(problems == [], "seed \(seed), round \(round)")
        #expect(differences == [], "seed \(seed), round \(round)")
        #expect(!second.hasChanges, "seed \(seed), round \(round)")
        if !problems.isEmpty { break }
      }
    }
  }
}
