// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores opened without comparing versions")
struct IgnoredVersionTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
    let context = try store.context(Self.model())
    context.make("Plain", ["name": "one"])
    context.make("Grown", ["name": "two"])
    try context.save()
    try store.close()
  }

  private static func model(grown: [NSAttributeDescription] = [], entity: String? = nil) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Plain", [.make("name", .stringAttributeType)])
    builder.entity("Grown", [.make("name", .stringAttributeType)] + grown)
    if let entity { builder.entity(entity, [.make("name", .stringAttributeType)]) }
    return builder.model()
  }

  private func open(_ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
    try store.context(model, options: [NSIgnorePersistentStoreVersioningOption: true])
  }

  @Test("A store that lacks a column of the model opens; what is there is read and written, what is not is an error")
  func missingColumn() throws {
    let new = Self.model(grown: [.make("extra", .stringAttributeType)], entity: "Added")
    let context = try open(new)
    #expect(try context.all("Plain").map { $0["name"] as? String } == ["one"])
    for entity in ["Grown", "Added"] {
      #expect(throws: NSError.self) { try context.all(entity) }
      let object = context.make(entity, ["name": "new"])
      #expect(throws: NSError.self) { try context.save() }
      context.delete(object)
    }
    context.make("Plain", ["name": "three"])
    try context.save()
    try store.close()
    // The store still says what it is, and is whole.
    let old = try store.context(Self.model())
    #expect(try Set(old.all("Plain").compactMap { $0["name"] as? String }) == ["one", "three"])
    #expect(try old.all("Grown").map { $0["name"] as? String } == ["two"])
  }

  @Test("A store that has all that the model needs becomes one of its version with the next save")
  func sameLayout() throws {
    let renamed = Self.model()
    renamed.entitiesByName["Plain"]?.versionHashModifier = "other"
    let context = try open(renamed)
    context.make("Plain", ["name": "three"])
    try context.save()
    try store.close()
    #expect(try store.context(renamed).all("Plain").count == 2)
  }
}
