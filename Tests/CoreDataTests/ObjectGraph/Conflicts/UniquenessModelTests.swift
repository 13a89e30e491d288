// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Random changes of two contexts under uniqueness constraints")
struct UniquenessModelTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let person = builder.entity(
      "Person",
      [
        .make("name", .stringAttributeType), .make("code", .integer32AttributeType),
        .make("size", .integer32AttributeType),
      ])
    builder.entity("Chief", parent: "Person")
    let desk = builder.entity("Desk", [.make("name", .stringAttributeType), .make("code", .integer32AttributeType)])
    builder.relate(.init("Person", "reports", toMany: true), .init("Person", "boss"))
    builder.relate(.init("Person", "desk"), .init("Desk", "owner"))
    builder.relate(.init("Person", "friends", toMany: true), .init("Person", "friends", toMany: true))
    builder.relate(.init("Person", "desks", toMany: true, ordered: true), .init("Desk", "user"))
    person.uniquenessConstraints = [["code"]]
    desk.uniquenessConstraints = [["code", "owner"]]
    return builder.model()
  }

  private func problems(in bench: StoreKindBench) throws -> [String] {
    let context = bench.context()
    let all = try context.all("Person") + context.all("Desk")
    let known = Set(all.map(\.objectID))
    var problems: [String] = []
    var codes: Set<Int> = []
    for object in all {
      if object.entity.name != "Desk", let code = object["code"] as? Int, !codes.insert(code).inserted {
        problems.append("two of code \(code)")
      }
      for (name, relationship) in object.entity.relationshipsByName {
        for id in object.objectIDs(forRelationshipNamed: name) {
          guard known.contains(id), let inverse = relationship.inverseRelationship else {
            problems.append("\(name) leads to a row that is gone")
            continue
          }
          if !context.object(with: id).objectIDs(forRelationshipNamed: inverse.name).contains(object.objectID) {
            problems.append("\(name) is not among \(inverse.name)")
          }
        }
      }
    }
    return problems.sorted()
  }

  private func change(_ context: NSManagedObjectContext, _ random: inout SeededGenerator) throws {
    guard let person = try context.all("Person").randomElement(using: &random),
      let other = try context.all("Person").randomElement(using: &random),
      let desk = try context.all("Desk").randomElement(using: &random)
    else { return }
    let code = Int(random.next() % 9)
    switch random.next() % 13 {
    case 0, 1: person["code"] = code
    case 2: person["boss"] = code % 3 == 0 ? nil : other
    case 3: person["size"] = code
    case 4, 5:
      let entity = code % 2 == 0 ? "Person" : "Chief"
      context.make(entity, ["name": "n\(random.next() % 100)", "code": code, "desk": desk, "boss": person])
    case 6:
      let new = context.make("Person", ["name": "m\(random.next() % 100)", "code": code])
      new["friends"] = Set([person, other])
    case 7: if code % 2 == 0 { context.delete(person) }
    case 8: person["desk"] = desk
    case 9: desk["owner"] = code % 3 == 0 ? nil : person
    case 10: person.mutableOrderedSetValue(forKey: "desks").insert(desk, at: 0)
    case 11: person["code"] = nil
    default: if code % 3 == 0 { context.delete(desk) } else { desk["code"] = code % 3 }
    }
  }

  @Test(
    "Leave no reference to a row that is gone, and relationships whose ends agree",
    arguments: [StoreKind.sqlite, .inMemory], 0...4 as ClosedRange<UInt>)
  func random(_ kind: StoreKind, _ type: UInt) throws {
    let policy = try #require(NSMergePolicyType(rawValue: type))
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bench = try StoreKindBench(kind, Self.model)
      let setUp = bench.context()
      for number in 0..<5 {
        let desk = setUp.make("Desk", ["name": "d\(number)", "code": number % 2])
        setUp.make(number % 2 == 0 ? "Chief" : "Person", ["name": "p\(number)", "code": number, "desk": desk])
      }
      try setUp.save()
      for round in 0..<8 {
        let (first, second) = (bench.context(), bench.context())
        first.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        second.mergePolicy = NSMergePolicy(merge: policy)
        for object in try second.all("Person") + second.all("Desk") where random.next() % 3 > 0 {
          for key in object.entity.propertiesByName.keys.sorted() where random.next() % 2 == 0 {
            _ = object.value(forKey: key)
          }
        }
        for _ in 0..<Int.random(in: 1...3, using: &random) { try change(first, &random) }
        do { try first.save() } catch { first.rollback() }
        for _ in 0..<Int.random(in: 1...4, using: &random) { try change(second, &random) }
        do {
          try second.save()
        } catch let error as NSError {
          #expect([133020, 133021].contains(error.code), "seed \(seed), round \(round): \(error)")
          second.rollback()
        }
        let problems = try problems(in: bench)
        #expect(problems == [] && !second.hasChanges, "seed \(seed), round \(round)")
        if !problems.isEmpty { break }
      }
    }
  }
}
