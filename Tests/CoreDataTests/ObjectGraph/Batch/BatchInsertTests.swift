// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Batch insertions")
struct BatchInsertTests {
  private func insert(
    _ objects: [[String: Any]], _ context: NSManagedObjectContext, entity: String = "Book"
  ) throws -> [NSManagedObjectID] {
    let request = NSBatchInsertRequest(entityName: entity, objects: objects)
    request.resultType = .objectIDs
    return try #require(
      (try context.execute(request) as? NSBatchInsertResult)?.result as? [NSManagedObjectID])
  }

  @Test("Rows have given values, defaults and derived values, and later saves continue their keys")
  func values() throws {
    let store = try TemporaryStore()
    let context = try store.context(BatchSample.model())
    context.make("Shelf", ["name": "A"])
    try context.save()
    let scan = Data(repeating: 7, count: 200_000)
    let moment = Date(timeIntervalSinceReferenceDate: 1.5)
    let ids = try insert(
      [
        [
          "isbn": "1", "title": "Ädá", "price": NSDecimalNumber(string: "9.95"), "tags": ["a", "b"], "scan": scan,
          "bought": moment,
        ], ["title": "Two", "isbn": NSNull(), "pages": 2],
      ], context)
    #expect(context.registeredObjects.isEmpty, "no objects are made")
    #expect(ids.map(\.key.number) == [1, 2] && ids.allSatisfy { $0.entity.name == "Book" })
    let read = try store.context(BatchSample.model()).all("Book", by: "title")
    let ada = try #require(read.last)
    #expect(ada["title"] as? String == "Ädá" && ada["pages"] as? Int == 1 && ada["search"] as? String == "ada")
    #expect(ada["price"] as? NSDecimalNumber == NSDecimalNumber(string: "9.95"))
    #expect(ada["tags"] as? [String] == ["a", "b"] && ada["scan"] as? Data == scan && ada["bought"] as? Date == moment)
    #expect(read.first?["pages"] as? Int == 2 && read.first?["isbn"] == nil)
    #expect(try store.table("SELECT Z_OPT FROM ZBOOK") == [[1], [1]])
    let shelf = try context.all("Shelf")[0]
    let later = context.make("Book", ["title": "Three", "shelf": shelf])
    try context.save()
    #expect(later.objectID.key.number == 3)
    try StoreChecks.check(store.url, BatchSample.model())
  }

  @Test("Handlers are asked until they say that there are no more objects, and their last object is ignored")
  func handlers() throws {
    let store = try TemporaryStore()
    let context = try store.context(BatchSample.model())
    var number = 0
    let dictionaries = NSBatchInsertRequest(entityName: "Book") { (values: NSMutableDictionary) in
      number += 1
      values["title"] = "D\(number)"
      return number == 4
    }
    dictionaries.resultType = .count
    #expect((try context.execute(dictionaries) as? NSBatchInsertResult)?.result as? Int == 3)
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Comic", in: context))
    let objects = NSBatchInsertRequest(entity: entity) { (object: NSManagedObject) in
      #expect(object.managedObjectContext == nil)
      number += 1
      object.setValue("O\(number)", forKey: "title")
      object.setValue(number, forKey: "colours")
      return number > 5
    }
    let result = try #require(try context.execute(objects) as? NSBatchInsertResult)
    #expect(result.resultType == .statusOnly && result.result as? Bool == true)
    #expect(try context.all("Book", by: "title").map { $0["title"] as? String } == ["D1", "D2", "D3", "O5"])
    let comic = try #require(try context.all("Comic", by: "title").first)
    #expect(comic["colours"] as? Int == 5 && comic["search"] as? String == "o5")
  }

  @Test("Values that do not fit are errors that name the property, and nothing is written")
  func refused() throws {
    let store = try TemporaryStore()
    let context = try store.context(BatchSample.model())
    func code(_ values: [String: Any], entity: String = "Book") -> Int? {
      do {
        _ = try insert([["title": "Fine"], values], context, entity: entity)
        return nil
      } catch {
        return (error as NSError).code
      }
    }
    #expect(code(["pages": 3]) == NSValidationMissingMandatoryPropertyError)
    #expect(code(["title": 7]) == NSManagedObjectValidationError)
    #expect(code(["title": "A", "pages": 40_000]) == NSValidationNumberTooLargeError)
    #expect(code(["title": "A", "nothing": 1]) == NSCoreDataError)
    #expect(code(["title": "A", "author": "B"]) == NSCoreDataError, "relationships cannot be set")
    #expect(code(["name": "A"], entity: "Nobody") == NSCoreDataError)
    #expect(try context.all("Book", by: "title").isEmpty)
    #expect(try store.files().allSatisfy { !$0.hasSuffix("_SUPPORT") })
  }

  @Test("Rows with the unique values of others are refused, merged, kept or replaced, as the merge policy says")
  func upsert() throws {
    for policy in [
      NSMergePolicyType.errorMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
      .mergeByPropertyStoreTrumpMergePolicyType, .overwriteMergePolicyType, .rollbackMergePolicyType,
    ] {
      let store = try TemporaryStore()
      let context = try store.context(BatchSample.model())
      _ = try insert([["isbn": "1", "title": "Old", "pages": 10, "scan": Data(count: 200_000)]], context)
      context.mergePolicy = NSMergePolicy(merge: policy)
      let changes: [[String: Any]] = [
        ["isbn": "1", "title": "New", "scan": Data([1])], ["isbn": "2", "title": "Other"],
      ]
      if policy == .errorMergePolicyType {
        #expect { try insert(changes, context) } throws: { ($0 as NSError).code == NSManagedObjectConstraintMergeError }
        #expect(try store.table("SELECT ZTITLE FROM ZBOOK") == [["Old"]])
        continue
      }
      let ids = try insert(changes, context)
      let found = try store.table("SELECT ZTITLE, ZPAGES, Z_OPT, ZSEARCH FROM ZBOOK ORDER BY Z_PK")
      let other: [SQLiteValue] = ["Other", 1, 1, "other"]
      switch policy {
      case .mergeByPropertyObjectTrumpMergePolicyType:
        #expect(found == [["New", 10, 2, "new"], other])
        #expect(ids.map(\.key.number) == [1, 2])
        let files = store.folder.appendingPathComponent(".Store_SUPPORT/_EXTERNAL_DATA").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: files) == [], "the replaced file is removed")
      case .overwriteMergePolicyType: #expect(found == [["New", 1, 2, "new"], other])
      default:
        #expect(found == [["Old", 10, 1, "old"], other])
        #expect(ids.map(\.key.number) == [2])
      }
    }
  }

  @Test("A handler that fails to give unique values in the middle leaves the store as it was")
  func failure() throws {
    let store = try TemporaryStore()
    let context = try store.context(BatchSample.model(), options: [NSPersistentHistoryTrackingKey: true])
    var number = 0
    let request = NSBatchInsertRequest(entityName: "Book") { (values: NSMutableDictionary) in
      number += 1
      values["title"] = "T\(number)"
      values["isbn"] = number == 500 ? "1" : "\(number)"
      values["scan"] = Data(count: number == 499 ? 200_000 : 1)
      return number > 600
    }
    #expect(throws: NSError.self) { try context.execute(request) }
    #expect(number == 500)
    #expect(try store.table("SELECT (SELECT COUNT(*) FROM ZBOOK), (SELECT COUNT(*) FROM ATRANSACTION)") == [[0, 0]])
    #expect(try store.table("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [[0]])
    let files = store.folder.appendingPathComponent(".Store_SUPPORT/_EXTERNAL_DATA").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: files) == [])
  }
}
