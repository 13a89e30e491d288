// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("The life of an object", .serialized)
struct LifeCycleTests {
  final class Plant: NSManagedObject {
    nonisolated(unsafe) static var calls: [String] = []
    nonisolated(unsafe) static var ignoresUnmodeled = true

    override class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { ignoresUnmodeled }

    private func call(_ name: String) { Plant.calls.append(name) }

    override func awakeFromInsert() { call("awakeFromInsert") }
    override func awakeFromFetch() { call("awakeFromFetch") }
    override func willSave() { call("willSave") }
    override func didSave() { call("didSave") }
    override func prepareForDeletion() { call("prepareForDeletion") }
    override func willTurnIntoFault() { call("willTurnIntoFault") }
    override func didTurnIntoFault() { call("didTurnIntoFault") }
    override func validateForInsert() throws { call("validateForInsert") }
    override func validateForUpdate() throws { call("validateForUpdate") }
    override func validateForDelete() throws { call("validateForDelete") }
  }

  /// A class that only `fetchRequest()` names.
  final class Shrub: NSManagedObject {}

  /// A class with initializers of its own.
  final class Tree: NSManagedObject {
    convenience init(context: NSManagedObjectContext, name: String) {
      self.init(context: context)
      self["name"] = name
    }

    class func plant(in context: NSManagedObjectContext) -> Self { Self(context: context) }
  }

  private static func model(_ name: String, relates: Bool = false) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(name, [.make("name", .stringAttributeType)]).managedObjectClassName = name
    if relates {
      builder.entity("Pot", [.make("name", .stringAttributeType)])
      builder.relate(.init(name, "pots", toMany: true), .init("Pot", "plant"))
    }
    return builder.model()
  }

  private func calls(_ body: () throws -> Void) rethrows -> [String] {
    Plant.calls = []
    try body()
    return Plant.calls
  }

  @Test("Calls come in Apple's order")
  func order() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model("Plant"))
    Plant.calls = []
    let plant = Plant(context: context)
    #expect(Plant.calls == ["awakeFromInsert"])
    #expect(try calls { try context.save() } == ["willSave", "validateForInsert", "didSave"])
    plant["name"] = "Oak"
    #expect(try calls { try context.save() } == ["willSave", "validateForUpdate", "didSave"])
    #expect(calls { context.refresh(plant, mergeChanges: false) } == ["willTurnIntoFault", "didTurnIntoFault"])
    #expect(calls { _ = plant["name"] } == ["awakeFromFetch"])
    #expect(calls { context.delete(plant) } == ["prepareForDeletion"])
    #expect(try calls { try context.save() } == ["willSave", "validateForDelete", "didSave"])
  }

  /// Fetches while it is being inserted.
  final class Seed: NSManagedObject {
    override func awakeFromInsert() {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Seed")
      self["name"] = Misuse.stop { "seed \(try managedObjectContext?.fetch(request).count ?? -1)" }
    }
  }

  @Test(
    "A fetch in awakeFromInsert() sees all objects, and tells nobody of the new one before its initializer has returned"
  )
  func fetchingWhileAwaking() throws {
    let context = try TemporaryStore().context(Self.model("Seed"))
    let log = NotificationLog(context)
    let first = Seed(context: context)
    #expect(log.take().isEmpty)
    let second = Seed(context: context)
    #expect(log.take().isEmpty)
    #expect([first["name"], second["name"]] as? [String] == ["seed 1", "seed 2"])
    context.processPendingChanges()
    #expect((log.take().first?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count == 2)
    // A deletion that waits is taken into account.
    context.delete(first)
    #expect(Seed(context: context)["name"] as? String == "seed 2")
    #expect(log.take().isEmpty)
    try context.save()
    #expect(try context.all("Seed").count == 2)
  }

  @Test("Validation of an object of a class compares large data about as fast as memory is read")
  func largeData() throws {
    var builder = ModelBuilder()
    builder.entity("Tree", [.make("photo", .binaryDataAttributeType)]).managedObjectClassName = "Tree"
    ManagedObjectClasses.register(Tree.self, as: "Tree")
    let context = try TemporaryStore().context(builder.model())
    let tree = try #require(context.make("Tree", ["photo": Data(repeating: 7, count: 64 << 20)]) as? Tree)
    let start = ProcessInfo.processInfo.systemUptime
    try tree.validateForInsert()
    #expect(ProcessInfo.processInfo.systemUptime - start < 1)
  }

  @Test("A key that the model does not have changes the object only if its class says so")
  func unmodeled() throws {
    let context = try TemporaryStore().context(Self.model("Plant"))
    let plant = Plant(context: context)
    try context.save()
    plant.willChangeValue(forKey: "height")
    plant.didChangeValue(forKey: "height")
    #expect(!plant.hasChanges && !context.hasChanges)
    Plant.ignoresUnmodeled = false
    defer { Plant.ignoresUnmodeled = true }
    plant.willChangeValue(forKey: "height")
    plant.didChangeValue(forKey: "height")
    #expect(plant.hasChanges && plant.changedValues().isEmpty)
  }

  @Test("Members set by their primitive value get their inverse with a set mutation")
  func setMutation() throws {
    let context = try TemporaryStore().context(Self.model("Plant", relates: true))
    let plant = Plant(context: context)
    let pots = (0..<3).map { context.make("Pot", ["name": "\($0)"]) }
    plant["pots"] = NSSet(object: pots[0])
    try context.save()
    let change = Set(pots[1...].map { AnyHashable($0) })
    plant.willChangeValue(forKey: "pots", withSetMutation: .set, using: change)
    plant.setPrimitiveValue(NSSet(array: Array(pots[1...])), forKey: "pots")
    plant.didChangeValue(forKey: "pots", withSetMutation: .set, using: change)
    #expect(pots.map { $0["plant"] != nil } == [false, true, true] && plant.hasChanges)
    try context.save()
    context.refreshAllObjects()
    #expect((plant["pots"] as? Set<NSManagedObject>) == Set(pots[1...]))
  }

  @Test("A class makes its objects by T(context:), Self(context:) and initializers of its own")
  func making() throws {
    func made<T: NSManagedObject>(_ type: T.Type, in context: NSManagedObjectContext) -> T { T(context: context) }
    let context = try TemporaryStore().context(Self.model("Tree"))
    let type: NSManagedObject.Type = Tree.self
    let objects = [
      made(Tree.self, in: context), Tree.plant(in: context), Tree(context: context, name: "Oak"),
      type.init(context: context),
    ]
    #expect(objects.allSatisfy { $0 is Tree && $0.isInserted && $0.entity.name == "Tree" })
  }

  @Test("A class finds its entity among the loaded models, and its objects by its request")
  func entity() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model("Shrub"))
    context.make("Shrub", ["name": "Box"])
    try context.save()
    try store.close()
    let again = try store.context(Self.model("Shrub"))
    #expect(Shrub.entity() === again.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Shrub"])
    let request: NSFetchRequest<any NSFetchRequestResult> = Shrub.fetchRequest()
    #expect(try again.fetch(request).first is Shrub)
    let typed: NSFetchRequest<Shrub> = Shrub.fetchRequest()
    #expect(try again.fetch(typed).first?["name"] as? String == "Box")
    func names<T: NSManagedObject>(_ type: T.Type) throws -> [String?] {
      let found: [T] = try again.fetch(T.fetchRequest())
      return found.map { $0["name"] as? String }
    }
    #expect(try names(Shrub.self) == ["Box"])
  }

  @Test("The request of a class uses the entity's name, which may be another than that of the class")
  func otherName() throws {
    final class Hedge: NSManagedObject {}
    var builder = ModelBuilder()
    builder.entity("Border", [.make("name", .stringAttributeType)]).managedObjectClassName = "Hedge"
    let context = try TemporaryStore().context(builder.model())
    #expect(Hedge.entity().name == "Border" && (Hedge.fetchRequest() as NSFetchRequest<Hedge>).entityName == "Border")
    #expect(try context.fetch(Hedge.fetchRequest() as NSFetchRequest<Hedge>).isEmpty)
  }

  @Test("A class without an entity stops the program when it is asked for it")
  func noEntity() async {
    await #expect(processExitsWith: .failure) {
      final class Nobody: NSManagedObject {}
      _ = Nobody.entity()
    }
  }
}
