// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Transient attributes")
struct TransientAttributeTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Person",
      [
        .make("name", .stringAttributeType),
        .make("isDriving", .booleanAttributeType, optional: false, default: false, transient: true),
        .make("mood", .stringAttributeType, optional: false, default: "calm", transient: true),
      ])
    return builder.model()
  }

  private func saved() throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    context.make("Person", ["name": "Ada"])
    try context.save()
    try store.close()
    return store
  }

  @Test("A fetched object has the default values of required ones, and can be saved")
  func defaults() throws {
    let store = try saved()
    let context = try store.context(Self.model())
    let ada = try #require(try context.all("Person").first)
    #expect(ada["isDriving"] as? Bool == false)
    #expect(ada["mood"] as? String == "calm")
    #expect(!ada.hasChanges && ada.changedValues().isEmpty)
    ada["name"] = "Ada L."
    try context.save()
    #expect(ada["mood"] as? String == "calm")
  }

  @Test(
    "A value that was set survives saving, and a refresh that keeps changes; one that drops them brings the default back"
  )
  func refreshing() throws {
    let context = try saved().context(Self.model())
    let ada = try #require(try context.all("Person").first)
    ada["mood"] = "glad"
    context.refresh(ada, mergeChanges: true)
    #expect(ada["mood"] as? String == "glad")
    ada["name"] = "Ada L."
    try context.save()
    #expect(ada["mood"] as? String == "glad")
    context.refresh(ada, mergeChanges: false)
    #expect(ada["mood"] as? String == "calm")
  }

  @Test(
    "A conflict that a merge policy settles leaves it alone",
    arguments: [NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType])
  func merging(policy: NSMergePolicyType) throws {
    let store = try saved()
    let context = try store.context(Self.model())
    context.mergePolicy = NSMergePolicy(merge: policy)
    let ada = try #require(try context.all("Person").first)
    ada["mood"] = "glad"
    let other = try store.context(Self.model())
    try other.all("Person").first?["name"] = "A."
    try other.save()
    ada["name"] = "Ada L."
    try context.save()
    #expect(ada["mood"] as? String == "glad")
  }
}
