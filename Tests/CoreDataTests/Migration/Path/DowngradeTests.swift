// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Opening a store that a newer version of the app has migrated")
struct DowngradeTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private enum Change: String, CaseIterable {
    case none, entity, attribute, transient, narrower, unordered
  }

  /// The model of the newer version: without a change, that of the older one.
  private static func model(newerBy change: Change, version: String = "2.0") -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var attributes: [NSAttributeDescription] = [
      .make("name", .stringAttributeType),
      .make("length", change == .narrower ? .doubleAttributeType : .floatAttributeType),
      .make("memo", .stringAttributeType, transient: change != .transient),
    ]
    if change == .attribute { attributes.append(.make("extra", .stringAttributeType)) }
    builder.entity("List", attributes)
    builder.entity("Song", [.make("name", .stringAttributeType)])
    if change == .entity { builder.entity("Label", [.make("name", .stringAttributeType)]) }
    builder.relate(
      .init("List", "songs", toMany: true, ordered: change == .unordered), .init("Song", "lists", toMany: true))
    let model = builder.model()
    model.versionIdentifiers = [version]
    return model
  }

  private static var old: NSManagedObjectModel { model(newerBy: .none, version: "1.0") }

  private func make(_ change: Change, withValues: Bool) throws {
    let context = try store.context(Self.model(newerBy: change))
    let list = context.make("List", ["name": "mix", "length": 1.5])
    if withValues {
      let songs = ["c", "a", "b"].map { context.make("Song", ["name": $0]) }
      if change == .unordered {
        list.setValue(NSOrderedSet(array: songs), forKey: "songs")
      } else {
        list.setValue(NSSet(array: songs), forKey: "songs")
      }
      if change == .attribute { list.setValue("x", forKey: "extra") }
      if change == .transient { list.setValue("x", forKey: "memo") }
      if change == .entity { context.make("Label", ["name": "x"]) }
    }
    try context.save()
    try store.close()
  }

  private func open(_ options: [String: Any] = [:]) throws -> NSManagedObjectContext {
    let all: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
    return try store.context(Self.old, options: all.merging(options) { $1 })
  }

  @Test(
    "It is refused with both versions' names, with values or without; the store stays as it was; an option allows it",
    arguments: [
      ("entity", "'Label'"), ("attribute", "'List.extra'"), ("transient", "'List.memo'"),
      ("narrower", "'List.length' (Double becomes Float)"), ("unordered", "the order of 'List.songs'"),
    ])
  func refusal(_ name: String, _ words: String) throws {
    let change = try #require(Change(rawValue: name))
    try make(change, withValues: false)
    let content = try Data(contentsOf: store.url)
    let error = try #require(throws: NSError.self) { try open() }
    #expect(error.code == NSMigrationMissingSourceModelError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.contains("the version '2.0'") && reason.contains("to '1.0'"), "\(error)")
    #expect(reason.contains("reduce the store by \(words)."), "\(error)")
    #expect(error.localizedRecoverySuggestion?.contains("MigrationOption.allowsDowngrade") == true)
    #expect(try Data(contentsOf: store.url) == content)
    let context = try open([MigrationOption.allowsDowngrade: true])
    #expect(try context.all("List").map { $0["length"] as? Float } == [1.5])
  }

  @Test(
    "What the store holds is not dropped by permission to go back; the order of members is content",
    arguments: [
      ("entity", "1 row of 'Label'"), ("attribute", "1 value of 'List.extra'"), ("transient", "1 value of 'List.memo'"),
      ("unordered", "the order of 3 links of 'List.songs'"),
    ])
  func content(_ name: String, _ words: String) throws {
    try make(try #require(Change(rawValue: name)), withValues: true)
    let content = try Data(contentsOf: store.url)
    for options in [[:], [MigrationOption.allowsDowngrade: true]] {
      let error = try #require(throws: NSError.self) { try open(options) }
      #expect(error.code == NSMigrationMissingSourceModelError)
      #expect(error.localizedFailureReason?.contains("would drop \(words).") == true, "\(error)")
      #expect(error.localizedRecoverySuggestion?.contains("MigrationOption.allowsLoss") == true)
    }
    #expect(try Data(contentsOf: store.url) == content)
    let context = try open([MigrationOption.allowsLoss: true])
    #expect(try context.all("Song").map { $0["name"] as? String } == ["a", "b", "c"])
  }

  @Test("A description has the option; a store that an unknown version has written grows without it")
  func growing() throws {
    let description = NSPersistentStoreDescription(url: store.url)
    #expect(!description.allowsDowngrade)
    description.allowsDowngrade = true
    #expect(description.options[MigrationOption.allowsDowngrade] == NSNumber(value: true))
    let context = try store.context(Self.old)
    context.make("List", ["name": "mix"])
    try context.save()
    try store.close()
    for change in Change.allCases where change != .none {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model(newerBy: change))
      let copy = store.folder.appendingPathComponent("\(change).sqlite")
      try FileManager.default.copyItem(at: store.url, to: copy)
      try coordinator.addPersistentStore(
        type: .sqlite, at: copy,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
        ])
    }
  }
}
