// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Saving and reading back")
struct SavingTests {
  @Test("Every type of attribute comes back as it was saved")
  func attributes() throws {
    let store = try TemporaryStore()
    let id = UUID()
    let hired = Date(timeIntervalSinceReferenceDate: 86_400.25)
    do {
      let context = try store.context(CompanyModel.make())
      context.make(
        "Employee",
        [
          "name": "Ada", "age": 36, "badge": Int32.max, "steps": Int64.max, "isActive": false, "rating": 4.5,
          "height": Float(1.7), "salary": NSDecimalNumber(string: "1234.5"), "hired": hired, "photo": Data([1, 2, 3]),
          "scan": Data([9, 8, 7]), "token": id, "site": try #require(URL(string: "https://example.org/ada?x=1")),
          "tags": ["math", "engine"] as NSArray, "mood": "curious",
        ])
      try context.save()
      #expect(!context.hasChanges)
    }
    let ada = try #require(try store.context(CompanyModel.make()).all("Employee").first)
    #expect(ada.isFault)
    #expect(ada.value(forKey: "name") as? String == "Ada")
    #expect(!ada.isFault)
    #expect(ada["age"] as? Int == 36)
    #expect(ada["badge"] as? Int32 == .max)
    #expect(ada["steps"] as? Int64 == .max)
    #expect(ada["isActive"] as? Bool == false)
    #expect(ada["rating"] as? Double == 4.5)
    #expect(ada["height"] as? Float == 1.7)
    #expect(ada["salary"] as? NSDecimalNumber == NSDecimalNumber(string: "1234.5"))
    #expect(ada["hired"] as? Date == hired)
    #expect(ada["photo"] as? Data == Data([1, 2, 3]))
    #expect(ada["scan"] as? Data == Data([9, 8, 7]))
    #expect(ada["token"] as? UUID == id)
    #expect((ada["site"] as? URL)?.absoluteString == "https://example.org/ada?x=1")
    #expect(ada["tags"] as? NSArray == ["math", "engine"] as NSArray)
    #expect(ada["mood"] == nil)
  }

  @Test("Large external data go to a file beside the store and come back")
  func externalData() throws {
    let store = try TemporaryStore()
    let large = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    do {
      let context = try store.context(CompanyModel.make())
      context.make("Employee", ["name": "Ada", "scan": large])
      try context.save()
    }
    #expect(try store.files().contains(".Store_SUPPORT"))
    let ada = try #require(try store.context(CompanyModel.make()).all("Employee").first)
    #expect(ada["scan"] as? Data == large)
  }

  @Test("Another spelling of the same characters is a change, and is saved as it is given")
  func spelling() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let task = context.make("Task", ["title": "e\u{301}"])
    try context.save()
    task["title"] = "\u{e9}"
    #expect(task.hasChanges)
    try context.save()
    context.refresh(task, mergeChanges: false)
    #expect((task["title"] as? String)?.unicodeScalars.map(\.value) == [0xe9])
  }

  @Test("A new object starts with default values")
  func defaults() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    #expect(context.make("Department")["name"] as? String == "New department")
    #expect(context.make("Employee")["isActive"] as? Bool == true)
  }

  @Test("Temporary identifiers become permanent with the save, and the old ones still find the object")
  func identifiers() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "Research"])
    let temporary = department.objectID
    #expect(temporary.isTemporaryID)
    #expect(temporary.uriRepresentation().scheme == "x-coredata")
    try context.save()
    #expect(!department.objectID.isTemporaryID)
    #expect(context.object(with: temporary) === department)
    let uri = department.objectID.uriRepresentation()
    let again = try #require(context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri))
    #expect(again == department.objectID)
    #expect(uri.absoluteString.hasSuffix("/Department/p1"))
  }

  @Test("Only what has changed is written, and each save raises the row's version")
  func updates() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada", "age": 36])
    try context.save()
    ada["age"] = 37
    #expect(ada.isUpdated)
    #expect(ada.changedValues()["age"] as? Int == 37)
    #expect(ada.changedValues().count == 1)
    #expect(ada.committedValues(forKeys: ["age"])["age"] as? Int == 36)
    try context.save()
    #expect(!ada.hasChanges)
    let other = try #require(try store.context(CompanyModel.make()).all("Employee").first)
    #expect(other["age"] as? Int == 37)
    #expect(other["name"] as? String == "Ada")
  }

  @Test("Rollback and reset forget what was not saved")
  func rollback() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    ada["name"] = "Grace"
    context.make("Employee", ["name": "Nobody"])
    context.rollback()
    #expect(!context.hasChanges)
    #expect(ada["name"] as? String == "Ada")
    #expect(try context.all("Employee").count == 1)
    ada["name"] = "Grace"
    context.reset()
    #expect(!context.hasChanges)
    #expect(try context.all("Employee").first?["name"] as? String == "Ada")
  }

  @Test("One object stands for a row, however it is reached")
  func uniquing() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "Research"])
    let ada = context.make("Employee", ["name": "Ada", "department": department])
    try context.save()
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let first = try #require(try other.all("Employee").first)
    let second = try #require(try other.all("Employee").first)
    #expect(first === second)
    #expect(first !== ada)
    let there = try #require(first["department"] as? NSManagedObject)
    #expect(there === (try other.all("Department").first))
    #expect((there["employees"] as? Set<NSManagedObject>)?.first === first)
  }

  @Test("A row changed by another context is a conflict, settled by the merge policy")
  func conflicts() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let ada = first.make("Employee", ["name": "Ada", "age": 36])
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    let twin = try #require(try second.existingObject(with: ada.objectID) as NSManagedObject?)
    twin["age"] = 40
    try second.save()
    ada["age"] = 50
    let error = #expect(throws: NSError.self) { try first.save() }
    #expect(error?.code == NSManagedObjectMergeError)
    #expect(first.hasChanges)
    first.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    ada["name"] = "Ada L."
    try first.save()
    let third = try store.context(CompanyModel.make())
    #expect(try third.all("Employee").first?["age"] as? Int == 50)
    #expect(try third.all("Employee").first?["name"] as? String == "Ada L.")
  }

  @Test("The store's value wins under the other property policy, and the rest is kept")
  func storeTrump() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let ada = first.make("Employee", ["name": "Ada", "age": 36])
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    try second.existingObject(with: ada.objectID)["age"] = 40
    try second.save()
    ada.setValuesForKeys(["age": 50, "name": "Ada L."])
    first.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try first.save()
    #expect(ada["age"] as? Int == 40)
    let third = try store.context(CompanyModel.make())
    #expect(try third.all("Employee").first?["age"] as? Int == 40)
    #expect(try third.all("Employee").first?["name"] as? String == "Ada L.")
  }

  @Test("What one context saves is merged into another that asks for it")
  func merging() async throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let ada = first.make("Employee", ["name": "Ada"])
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    second.automaticallyMergesChangesFromParent = true
    let id = ada.objectID
    let before = try await second.perform { try second.existingObject(with: id)["name"] as? String }
    #expect(before == "Ada")
    ada["name"] = "Grace"
    try first.save()
    let after = await second.perform { second.object(with: id)["name"] as? String }
    #expect(after == "Grace")
  }

  @Test("What is overwritten, or brought back, is known by its version of now: the next save meets no conflict")
  func overwriting() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let (ada, bob) = (first.make("Employee", ["name": "Ada", "age": 36]), first.make("Employee", ["name": "Bob"]))
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    for age in 40...43 {
      try second.existingObject(with: ada.objectID)["age"] = age
      try second.save()
    }
    second.delete(try second.existingObject(with: bob.objectID))
    try second.save()

    first.mergePolicy = NSMergePolicy.overwrite
    ada["name"] = "Ada L."
    bob["name"] = "Bob B."
    try first.save()
    first.mergePolicy = NSMergePolicy.error
    ada["name"] = "Ada Lovelace"
    bob["age"] = 50
    try first.save()
    let third = try store.context(CompanyModel.make())
    let found = try third.all("Employee").sorted { ($0["name"] as? String ?? "") < ($1["name"] as? String ?? "") }
    #expect(found.map { $0["name"] as? String } == ["Ada Lovelace", "Bob B."])
    #expect(found.map { $0["age"] as? Int } == [36, 50])
  }

  @Test("Under the rollback policy the store's row stands, and the object becomes what it says")
  func rollingBack() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let ada = first.make("Employee", ["name": "Ada", "age": 36])
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    try second.existingObject(with: ada.objectID)["age"] = 40
    try second.save()
    first.mergePolicy = NSMergePolicy.rollback
    ada["name"] = "Ada L."
    try first.save()
    #expect(ada["name"] as? String == "Ada" && ada["age"] as? Int == 40 && !first.hasChanges)
    first.mergePolicy = NSMergePolicy.error
    ada["name"] = "Grace"
    try first.save()
    #expect(try store.context(CompanyModel.make()).all("Employee").map { $0["name"] as? String } == ["Grace"])
  }
}
