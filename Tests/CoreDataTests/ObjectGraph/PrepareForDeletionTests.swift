// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("prepareForDeletion()", .serialized)
struct PrepareForDeletionTests {
  /// Deletes its room with the last guest.
  final class Guest: NSManagedObject {
    override func prepareForDeletion() {
      guard let room = self["room"] as? NSManagedObject, let guests = room["guests"] as? Set<NSManagedObject> else {
        return
      }
      if guests.filter({ !$0.isDeleted }).isEmpty { managedObjectContext?.delete(room) }
    }
  }

  /// Deletes its partner, which does the same.
  final class Twin: NSManagedObject {
    nonisolated(unsafe) static var calls = 0

    override func prepareForDeletion() {
      Twin.calls += 1
      if let partner = self["partner"] as? NSManagedObject { managedObjectContext?.delete(partner) }
    }
  }

  /// Notes the name of its album.
  final class Photo: NSManagedObject {
    nonisolated(unsafe) static var albums: [String?] = []

    override func prepareForDeletion() {
      Photo.albums.append((self["album"] as? NSManagedObject)?.text("name"))
    }
  }

  private func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    for name in ["Room", "Album"] { builder.entity(name, [.make("name", .stringAttributeType)]) }
    for name in ["Guest", "Twin", "Photo"] {
      builder.entity(name, [.make("name", .stringAttributeType)]).managedObjectClassName = name
    }
    builder.relate(.init("Room", "guests", toMany: true), .init("Guest", "room"))
    builder.relate(.init("Twin", "partner"), .init("Twin", "partner"))
    builder.relate(
      .init("Album", "photos", toMany: true, rule: .cascadeDeleteRule), .init("Photo", "album", optional: false))
    ManagedObjectClasses.register(Guest.self, as: "Guest")
    ManagedObjectClasses.register(Twin.self, as: "Twin")
    ManagedObjectClasses.register(Photo.self, as: "Photo")
    return builder.model()
  }

  @Test("The object is deleted already, so that its owner goes with the last member")
  func lastMember() throws {
    let store = try TemporaryStore()
    let context = try store.context(model())
    let room = context.make("Room", ["name": "1"])
    let guests = ["a", "b"].map { context.make("Guest", ["name": $0, "room": room]) }
    try context.save()
    context.delete(guests[0])
    try context.save()
    #expect(try context.all("Room").count == 1)
    context.delete(guests[1])
    #expect(room.isDeleted)
    try context.save()
    #expect(try store.context(model()).all("Room").isEmpty)
  }

  @Test("Objects that delete each other are deleted once")
  func mutual() throws {
    let store = try TemporaryStore()
    let context = try store.context(model())
    let twins = ["a", "b"].map { context.make("Twin", ["name": $0]) }
    twins[0]["partner"] = twins[1]
    try context.save()
    Twin.calls = 0
    context.delete(twins[0])
    #expect(Twin.calls == 2 && twins.allSatisfy(\.isDeleted))
    try context.save()
    #expect(try context.all("Twin").isEmpty)
  }

  @Test(
    "An object that is deleted by cascading still has its owner, and undo brings both back", arguments: [true, false])
  func cascading(isRead: Bool) throws {
    let store = try TemporaryStore()
    var context = try store.context(model())
    let names = ["p", "q"]
    let album = context.make("Album", ["name": "summer"])
    for name in names { context.make("Photo", ["name": name, "album": album]) }
    try context.save()
    if !isRead { context = try store.context(model()) }
    context.undoManager = UndoManager()
    let owner = try #require(try context.all("Album").first)
    Photo.albums = []
    context.delete(owner)
    context.processPendingChanges()
    #expect(Photo.albums == ["summer", "summer"])
    #expect(context.deletedObjects.count == 3)
    context.undo()
    #expect(!context.hasChanges && owner.names("photos") == names)
    #expect(try context.all("Photo").allSatisfy { $0["album"] as? NSManagedObject == owner })
    context.redo()
    try context.save()
    #expect(try store.context(model()).all("Photo").isEmpty)
  }
}
