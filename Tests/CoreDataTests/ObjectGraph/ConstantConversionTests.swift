// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Numbers compared with texts")
struct ConstantConversionTests {
  // The store of a program executes predicates itself.
  private static let kinds = StoreKind.allCases.filter { $0 != .incremental }

  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.elements = [.make("code", .stringAttributeType)]
    builder.entity(
      "Item",
      [
        .make("text", .stringAttributeType), .make("whole", .integer64AttributeType),
        .make("real", .doubleAttributeType), .make("exact", .decimalAttributeType),
        .make("truth", .booleanAttributeType), place,
      ])
    builder.entity("Box", [.make("name", .stringAttributeType)])
    builder.relate(.init("Box", "items", toMany: true), .init("Item", "box"))
    return builder.model()
  }

  private static func fill(_ context: NSManagedObjectContext) {
    for number in 9...11 {
      let box = context.make("Box", ["name": "\(number)"])
      context.make(
        "Item",
        [
          "text": "\(number)", "whole": number, "real": Double(number) + 0.5,
          "exact": NSDecimalNumber(string: "\(number).1"), "truth": number == 9, "box": box,
          "place": ["code": "\(number)"],
        ])
    }
    context.make("Item", ["text": "9.5"])
    context.make("Item")
  }

  /// The predicate, its arguments, and the texts of the items that it finds.
  private static var predicates: [(format: String, arguments: [Any], found: [String])] {
    [
      ("text IN %@", [[9, 10, 11] as NSArray], ["10", "11", "9"]),
      ("text IN %@", [Set([9, 10]) as NSSet], ["10", "9"]),
      ("text IN {9, 10}", [], ["10", "9"]),
      ("NOT text IN %@", [[9, 10, 11] as NSArray], ["", "9.5"]),
      ("text == %@", [9 as NSNumber], ["9"]),
      ("text == %@", [9.5 as NSNumber], ["9.5"]),
      ("text == %@", [9.0 as NSNumber], []),
      ("text == %@", [NSDecimalNumber(string: "9.5")], ["9.5"]),
      ("text == 9", [], ["9"]),
      ("9 == text", [], ["9"]),
      ("text ==[c] 9", [], ["9"]),
      ("text != 9", [], ["", "10", "11", "9.5"]),
      // As texts.
      ("text > 9", [], ["9.5"]),
      ("text < 9", [], ["10", "11"]),
      ("text BETWEEN {10, 11}", [], ["10", "11"]),
      ("box.name == 10", [], ["10"]),
      ("place.code == 11", [], ["11"]),
      ("SELF.text == 9", [], ["9"]),
      ("text == 9 AND whole == 9 OR text == 10", [], ["10", "9"]),
      ("SUBQUERY(box.items, $i, $i.text == 11).@count > 0", [], ["11"]),
      // The other way round.
      ("whole == '9'", [], ["9"]),
      ("whole == ' 9 '", [], ["9"]),
      ("whole == 'nine'", [], []),
      ("whole == '9.0'", [], ["9"]),
      ("whole > '9'", [], ["10", "11"]),
      ("whole IN %@", [["9", "10"] as NSArray], ["10", "9"]),
      ("real == '9.5'", [], ["9"]),
      ("real >= '1.05e1'", [], ["10", "11"]),
      ("exact == '9.1'", [], ["9"]),
      ("truth == '1'", [], ["9"]),
    ]
  }

  private static func predicate(_ number: Int) -> NSPredicate {
    NSPredicate(format: predicates[number].format, argumentArray: predicates[number].arguments)
  }

  private func texts(_ objects: [NSManagedObject]) -> [String] { objects.map { $0["text"] as? String ?? "" }.sorted() }

  @Test("Every store converts the constant, with and without unsaved changes", arguments: kinds, [true, false])
  func fetching(_ kind: StoreKind, unsaved: Bool) throws {
    let bench = try StoreKindBench(kind, Self.model)
    let writer = bench.context()
    Self.fill(writer)
    if !unsaved { try writer.save() }
    let context = unsaved ? writer : bench.context()
    for (number, item) in Self.predicates.enumerated() {
      let found = try context.all("Item", by: "text", where: Self.predicate(number))
      #expect(texts(found) == item.found, "\(item.format)")
      let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
      request.predicate = Self.predicate(number)
      #expect(try context.count(for: request) == item.found.count, "\(item.format)")
      // A part made of code, so that only memory can evaluate the predicate.
      let all = NSPredicate(block: { _, _ in true })
      request.predicate = NSCompoundPredicate(type: .and, subpredicates: [Self.predicate(number), all])
      #expect(texts(try context.fetch(request)) == item.found, "\(item.format) with a block")
    }
    let boxes = try context.all(
      "Box", where: NSPredicate(format: "ANY items.text == 9 OR ANY items.text IN %@", [11]))
    #expect(boxes.compactMap { $0["name"] as? String } == ["11", "9"])
    let containing = try context.all("Box", where: NSPredicate(format: "items.text CONTAINS 10 OR 9 IN items.text"))
    #expect(containing.compactMap { $0["name"] as? String } == ["10", "9"])
    let request = NSFetchRequest<NSDictionary>(entityName: "Item")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["text"]
    request.propertiesToGroupBy = ["text"]
    request.havingPredicate = NSPredicate(format: "text == 9")
    #expect(try context.fetch(request).compactMap { $0["text"] as? String } == ["9"])
  }

  @Test("A child context, and a list of more than a hundred numbers")
  func child() throws {
    let bench = try StoreKindBench(.sqlite, Self.model)
    let parent = bench.context()
    Self.fill(parent)
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    let many = NSPredicate(format: "text IN %@", argumentArray: [Array(10...500) as NSArray])
    for _ in 0..<2 {
      #expect(texts(try child.all("Item", by: "text", where: many)) == ["10", "11"])
      try parent.save()
    }
  }

  @Test("Batch requests", arguments: [StoreKind.sqlite] + StoreKind.servers)
  func batches(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind, Self.model)
    let context = bench.context()
    Self.fill(context)
    try context.save()
    let update = NSBatchUpdateRequest(entityName: "Item")
    update.propertiesToUpdate = ["truth": true]
    update.predicate = NSPredicate(format: "text IN %@", argumentArray: [[10, 11] as NSArray])
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 2)
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
    fetch.predicate = NSPredicate(format: "text == 10")
    let delete = NSBatchDeleteRequest(fetchRequest: fetch)
    delete.resultType = .resultTypeCount
    #expect((try context.execute(delete) as? NSBatchDeleteResult)?.result as? Int == 1)
    #expect(texts(try bench.context().all("Item", by: "text")) == ["", "11", "9", "9.5"])
  }

  /// A controller follows changes only if it has a delegate.
  private final class Watcher: NSObject, NSFetchedResultsControllerDelegate {}

  @Test("A fetched results controller follows changes by the same rule")
  func controller() throws {
    let bench = try StoreKindBench(.sqlite, Self.model)
    let context = bench.context()
    Self.fill(context)
    try context.save()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.predicate = NSPredicate(format: "text == 9")
    request.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let watcher = Watcher()
    controller.delegate = watcher
    try controller.performFetch()
    #expect(controller.fetchedObjects?.count == 1)
    let new = context.make("Item", ["text": "9"])
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.count == 2 && controller.fetchedObjects?.contains(new) == true)
    withExtendedLifetime(watcher) {}
  }
}
