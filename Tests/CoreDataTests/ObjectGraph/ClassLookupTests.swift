// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Classes of a module that is not the main executable's, such as this one.
@Suite("Classes that models name without their module")
struct ClassLookupTests {
  final class Gardener: NSManagedObject {
    class func fetchRequest() -> NSFetchRequest<Gardener> { NSFetchRequest(entityName: "Gardener") }
  }

  /// Another class of the same name.
  enum Elsewhere {
    final class Gardener: NSManagedObject {}
  }

  private static func model(_ className: String) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Gardener", [.make("name", .stringAttributeType)]).managedObjectClassName = className
    return builder.model()
  }

  @Test("Are found where the program names them by type", arguments: ["Gardener", ".Gardener"])
  func byType(className: String) throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model(className))
    let ada = Gardener(context: context)
    ada["name"] = "Ada"
    let inserted = NSEntityDescription.insertNewObject(forEntityName: "Gardener", into: context)
    #expect(type(of: inserted) == Gardener.self)
    try context.save()
    try store.close()
    let request: NSFetchRequest<Gardener> = Gardener.fetchRequest()
    let found = try store.context(Self.model(className)).fetch(request)
    #expect(found.count == 2)
    let third = try store.context(Self.model(className))
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Gardener", in: third))
    #expect(type(of: Gardener(entity: entity, insertInto: third)) == Gardener.self)
    let all = try third.all("Gardener")
    #expect(all.filter { !($0 is Gardener) }.isEmpty)
  }

  @Test("Each model has its own, where two modules have one of the same name")
  func sameName() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    let (first, second) = (try one.context(Self.model("Gardener")), try other.context(Self.model("Gardener")))
    _ = Gardener(context: first)
    _ = Elsewhere.Gardener(context: second)
    #expect(type(of: first.make("Gardener")) == Gardener.self)
    #expect(type(of: second.make("Gardener")) == Elsewhere.Gardener.self)
  }

  @Test("A class whose name the model does not have stops the program")
  func unknown() async {
    await #expect(processExitsWith: .failure) {
      let context = try TemporaryStore().context(ClassLookupTests.model("Somebody"))
      _ = Gardener(context: context)
    }
  }

  @Test("A second class under a registered name stops the program")
  func registeredTwice() async {
    ManagedObjectClasses.register(Gardener.self, as: "ClassLookupTests twice")
    ManagedObjectClasses.register(Gardener.self, as: "ClassLookupTests twice")
    await #expect(processExitsWith: .failure) {
      ManagedObjectClasses.register(Gardener.self, as: "ClassLookupTests name")
      ManagedObjectClasses.register(Elsewhere.Gardener.self, as: "ClassLookupTests name")
    }
  }
}
