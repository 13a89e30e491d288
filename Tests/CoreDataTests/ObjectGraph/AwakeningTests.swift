// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Calls a closure of the test in its methods.
final class Kettle: NSManagedObject {
  nonisolated(unsafe) static var awaking: ((Kettle) -> Void)?
  nonisolated(unsafe) static var preparing: ((Kettle) -> Void)?

  override func awakeFromFetch() {
    super.awakeFromFetch()
    Kettle.awaking?(self)
  }

  override func prepareForDeletion() {
    super.prepareForDeletion()
    Kettle.preparing?(self)
  }

  static func model() -> NSManagedObjectModel {
    ManagedObjectClasses.register(Kettle.self, as: "Kettle")
    Kettle.awaking = nil
    Kettle.preparing = nil
    var builder = ModelBuilder()
    builder.entity(
      "Kettle",
      [
        .make("name", .stringAttributeType), .make("label", .stringAttributeType),
        .make("cache", .stringAttributeType, transient: true),
        .make("mood", .stringAttributeType, optional: false, default: "calm", transient: true),
      ]
    ).managedObjectClassName = "Kettle"
    builder.entity("Stove", [.make("name", .stringAttributeType)])
    builder.relate(.init("Stove", "kettles", toMany: true), .init("Kettle", "stove"))
    return builder.model()
  }
}

// Tests whose objects call closures in static variables run one after the other.
@Suite("Objects that wake", .serialized)
struct KettleTests {
  static let kinds = StoreKind.allCases

  /// A kettle that is a fault in a context of its own.
  static func fault(_ bench: StoreKindBench) throws -> (NSManagedObjectContext, NSManagedObject) {
    let writer = bench.context()
    let stove = writer.make("Stove", ["name": "S"])
    writer.make("Kettle", ["name": "Ada", "stove": stove])
    try writer.save()
    let context = bench.context()
    let kettle = try #require(try context.all("Kettle").first)
    context.refresh(kettle, mergeChanges: false)
    return (context, kettle)
  }

  @Suite("awakeFromFetch() and transient values", .serialized)
  struct AwakeningTests {
    @Test("Setters in awakeFromFetch() change neither the object nor its context", arguments: KettleTests.kinds)
    func setters(_ kind: StoreKind) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      context.undoManager = UndoManager()
      let log = NotificationLog(context)
      Kettle.awaking = { kettle in
        kettle["cache"] = "cached"
        kettle["label"] = "of \(kettle["name"] ?? "")"
        kettle.setPrimitiveValue("glad", forKey: "mood")
      }
      #expect(kettle["cache"] as? String == "cached" && kettle["label"] as? String == "of Ada")
      #expect(!kettle.hasChanges && !kettle.isUpdated && !context.hasChanges && context.updatedObjects.isEmpty)
      context.processPendingChanges()
      #expect(log.take().isEmpty && context.undoManager?.canUndo == false)
      #expect(kettle.changedValuesForCurrentEvent().isEmpty)
      try context.save()
      Kettle.awaking = nil
      #expect(try bench.context().all("Kettle").first?["label"] == nil, "nothing was saved")
      // A change of the program is one as ever, and is undone alone.
      kettle["name"] = "Bob"
      #expect(kettle.isUpdated && context.hasChanges)
      #expect(kettle.changedValuesForCurrentEvent().keys.sorted() == ["name"])
      context.processPendingChanges()
      context.undo()
      #expect(kettle["name"] as? String == "Ada" && kettle["cache"] as? String == "cached")
      #expect(kettle["mood"] as? String == "glad" && kettle["label"] as? String == "of Ada")
    }

    @Test(
      "A relationship set in awakeFromFetch() changes no inverse; one that others set does", arguments: [true, false])
    func relationships(_ isOwn: Bool) throws {
      let bench = try StoreKindBench(.sqlite, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      let other = context.make("Stove", ["name": "T"])
      try context.save()
      Kettle.awaking = { kettle in
        if isOwn { kettle["stove"] = other } else { other.mutableSetValue(forKey: "kettles").add(kettle) }
      }
      _ = kettle["name"]
      Kettle.awaking = nil
      #expect(kettle["stove"] as? NSManagedObject === other)
      #expect((other["kettles"] as? Set<NSManagedObject>)?.count == (isOwn ? 0 : 1))
      #expect(context.hasChanges == !isOwn && kettle.isUpdated == !isOwn)
      try context.save()
      let stove = try bench.context().all("Kettle").first?.value(forKeyPath: "stove.name") as? String
      #expect(stove == (isOwn ? "S" : "T"))
    }

    @Test(
      "An object that is refreshed in awakeFromFetch() has its values, and none after a reset",
      arguments: KettleTests.kinds)
    func refreshing(_ kind: StoreKind) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      defer { Kettle.awaking = nil }
      let refreshes: [(Kettle) -> Void] = [
        { $0.managedObjectContext?.refreshAllObjects() }, { $0.managedObjectContext?.refresh($0, mergeChanges: true) },
        { $0.managedObjectContext?.refresh($0, mergeChanges: false) },
      ]
      for refresh in refreshes {
        context.refresh(kettle, mergeChanges: false)
        Kettle.awaking = refresh
        #expect(kettle["name"] as? String == "Ada")
        kettle["label"] = "blue"
        try context.save()
        #expect(kettle["label"] as? String == "blue")
      }
      context.refresh(kettle, mergeChanges: false)
      Kettle.awaking = { $0.managedObjectContext?.reset() }
      #expect(kettle["name"] == nil && kettle.managedObjectContext == nil)
    }

    @Test("The methods that report changes leave out transient properties", arguments: KettleTests.kinds)
    func reports(_ kind: StoreKind) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      kettle["cache"] = "cached"
      kettle["name"] = "Bob"
      #expect(kettle.changedValues().keys.sorted() == ["name"])
      #expect(kettle.changedValuesForCurrentEvent().keys.sorted() == ["name"])
      #expect(kettle.committedValues(forKeys: ["cache", "name", "mood"]).keys.sorted() == ["name"])
      #expect(kettle.committedValues(forKeys: nil).keys.sorted() == ["label", "name", "stove"])
      #expect(kettle.hasPersistentChangedValues)
      let new = context.make("Kettle", ["name": "New", "cache": "c"])
      #expect(new.changedValues().keys.sorted() == ["name"])
    }

    @Test(
      "A refresh that keeps changes, a merge and a refreshing fetch keep transient values; other refreshes drop them",
      arguments: KettleTests.kinds, [true, false])
    func keeping(_ kind: StoreKind, isChanged: Bool) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      kettle["cache"] = "cached"
      kettle["mood"] = "glad"
      try context.save()
      if isChanged { kettle["label"] = "mine" }
      func expectKept(_ name: String, _ place: String) {
        #expect(kettle["name"] as? String == name, "\(place)")
        #expect(kettle["cache"] as? String == "cached" && kettle["mood"] as? String == "glad", "\(place)")
        #expect(kettle["label"] as? String == (isChanged ? "mine" : nil), "\(place)")
        #expect(kettle.hasChanges == isChanged, "\(place)")
      }
      context.refresh(kettle, mergeChanges: true)
      expectKept("Ada", "refresh")
      context.refresh(kettle, mergeChanges: true)
      context.refreshAllObjects()
      expectKept("Ada", "twice, as a fault")
      let other = bench.context()
      for (number, merge) in ["notification", "identifiers", "automatic", "fetch"].enumerated() {
        let log = NotificationLog(other, NSManagedObjectContext.didSaveObjectsNotification)
        context.automaticallyMergesChangesFromParent = merge == "automatic"
        try other.all("Kettle").first?["name"] = "\(number)"
        try other.save()
        let saved = try #require(log.take().last)
        switch merge {
        case "notification":
          let name = NSManagedObjectContext.didSaveObjectsNotification
          context.mergeChanges(fromContextDidSave: Notification(name: name, object: other, userInfo: saved))
        case "identifiers":
          let ids = [NSUpdatedObjectIDsKey: [kettle.objectID]]
          NSManagedObjectContext.mergeChanges(fromRemoteContextSave: ids, into: [context])
        case "automatic": context.performAndWait {}
        default:
          let request = NSFetchRequest<NSManagedObject>(entityName: "Kettle")
          request.shouldRefreshRefetchedObjects = true
          _ = try context.fetch(request)
          // Values of changed objects stay, and a store of a program gives objects that it has made itself.
          if isChanged || kind == .incremental { continue }
        }
        expectKept("\(number)", merge)
      }
      context.automaticallyMergesChangesFromParent = false
      context.refresh(kettle, mergeChanges: true)
      context.refresh(kettle, mergeChanges: false)
      #expect(kettle["cache"] == nil && kettle["mood"] as? String == "calm" && kettle["label"] == nil)
    }

    @Test("The primitive value of a fault is read from the store", arguments: KettleTests.kinds)
    func primitive(_ kind: StoreKind) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      #expect(kettle.isFault)
      #expect(kettle.primitiveValue(forKey: "name") as? String == "Ada")
      #expect(!kettle.isFault && !context.hasChanges)
      context.refresh(kettle, mergeChanges: false)
      #expect((kettle.primitiveValue(forKey: "stove") as? NSManagedObject)?["name"] as? String == "S")
    }
  }
}
