// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Undo of objects with derived attributes")
struct DerivedUndoTests {
  private static func model() -> NSManagedObjectModel {
    let count = NSDerivedAttributeDescription()
    count.name = "noteCount"
    count.attributeType = .integer64AttributeType
    count.isOptional = true
    count.derivationExpression = NSExpression(format: "notes.@count")
    let saved = NSDerivedAttributeDescription()
    saved.name = "saved"
    saved.attributeType = .dateAttributeType
    saved.isOptional = true
    saved.derivationExpression = NSExpression(format: "now()")
    var builder = ModelBuilder()
    builder.entity("Folder", [.make("name", .stringAttributeType), count, saved])
    builder.entity("Note", [.make("title", .stringAttributeType)])
    builder.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
    return builder.model()
  }

  @Test("The first undo after a save reverts the last change, and the next save computes the attribute again")
  func saveIsNoStep() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let folder = context.make("Folder", ["name": "1"])
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    let note = context.make("Note", ["title": "n", "folder": folder])
    context.processPendingChanges()
    try context.save()
    #expect(folder["noteCount"] as? Int == 1)
    manager.undo()
    #expect(note.isDeleted)
    #expect(!manager.canUndo)
    try context.save()
    #expect(folder["noteCount"] as? Int == 0)
    manager.redo()
    try context.save()
    #expect(folder["noteCount"] as? Int == 1)
    #expect(try store.context(Self.model()).all("Folder").first?["noteCount"] as? Int == 1)
  }

  @Test("A save outside of a group registers nothing where the program groups changes itself")
  func ungrouped() throws {
    let context = try TemporaryStore().context(Self.model())
    let manager = UndoManager()
    manager.groupsByEvent = false
    context.undoManager = manager
    manager.beginUndoGrouping()
    let folder = context.make("Folder", ["name": "1"])
    context.processPendingChanges()
    manager.endUndoGrouping()
    try context.save()
    #expect(folder["saved"] is Date)
    manager.beginUndoGrouping()
    folder.setValue("2", forKey: "name")
    context.processPendingChanges()
    manager.endUndoGrouping()
    try context.save()
    manager.undo()
    #expect(folder["name"] as? String == "1")
    #expect(context.hasChanges)
  }
}
