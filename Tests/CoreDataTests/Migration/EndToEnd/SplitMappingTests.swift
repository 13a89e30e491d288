// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Notes that several mappings share out among them by conditions which lie across one another.
@Suite("Several mappings from one entity into one, with conditions, related on both sides", .serialized)
struct SplitMappingTests {
  final class PlainPolicy: NSEntityMigrationPolicy {}

  private static let names = ["Odd", "Even", "Rest"]
  private static let conditions = [
    "rank < 9 AND modulus:by:(rank, 2) == 1", "rank < 9 AND modulus:by:(rank, 2) == 0", "rank >= 9",
  ]

  private static func anyOf(_ relationship: String) -> String {
    "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", \"\(relationship)\", "
      + "$source.\(relationship))"
  }

  /// - Parameter policies: which of the three mappings have one.
  private func sample(policies: [Bool], usesSQL: Bool) throws -> ManagerSample {
    MigrationPolicyClasses.register(PlainPolicy.self, as: "SplitMappingPolicy")
    let sample = try ManagerSample(folders: 3, notes: 14)
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    var mappings = zip(Self.names, Self.conditions).map { name, condition in
      ManagerSample.entity(
        name, "Note", "Note", ["title": "$source.title", "rank": "$source.rank"],
        [
          "box": ManagerSample.of("FolderToBox", "folder"), "tags": Self.anyOf("tags"),
          "favourites": ManagerSample.of("TagToTag", "favourites"),
        ], filter: condition)
    }
    for (mapping, isWanted) in zip(mappings, policies) where isWanted {
      mapping.mappingType = .customEntityMappingType
      mapping.entityMigrationPolicyClassName = "SplitMappingPolicy"
    }
    let notes = ManagerSample.properties(["notes": Self.anyOf("notes")])
    sample["FolderToBox"].relationshipMappings = notes
    sample["TagToTag"].relationshipMappings = ManagerSample.properties(["notes": Self.anyOf("notes")])
    // Folders come between the notes, tags after all.
    mappings.insert(sample["FolderToBox"], at: 1)
    sample.mapping.entityMappings = mappings + [sample["TagToTag"]]
    return sample
  }

  @Test(
    "Make each note once, with its links, whatever parts have a policy",
    arguments: [
      [false, false, false], [true, false, false], [false, true, false], [true, true, false], [true, true, true],
    ], [2, 500])
  func split(_ policies: [Bool], _ batchSize: Int) throws {
    for usesSQL in [false, true] {
      let sample = try sample(policies: policies, usesSQL: usesSQL)
      try sample.migrate(batchSize: batchSize)
      try sample.result { (context) throws in
        let notes = try context.all("Note", by: "rank")
        #expect(notes.map { $0.text("title") } == (1...14).map { "N\($0)" })
        #expect(notes.map { $0.value(forKeyPath: "box.label") as? String } == (0..<14).map { "F\($0 % 3 + 1)" })
        let tags = ["T1", "T2", "T3"]
        #expect(notes.map { $0.names("tags") } == (0..<14).map { Array(tags.prefix($0 % 4)) })
        #expect(notes.map { $0.names("favourites") } == (0..<14).map { Array(tags.prefix($0 % 3).reversed()) })
        let boxes = try context.all("Box", by: "label")
        #expect(boxes.map { $0.names("notes", "title").count } == [5, 5, 4])
      }
    }
  }

  @Test("In two passes of one manager: the second relates to what the first has made", arguments: [false, true])
  func passes(_ usesSQL: Bool) throws {
    let sample = try sample(policies: [true, false, false], usesSQL: usesSQL)
    let all = sample.mapping.entityMappings ?? []
    sample.mapping.entityMappings = all.filter { $0.name != "TagToTag" && $0.name != "Rest" }
    // What is mapped later cannot be led to now.
    for mapping in sample.mapping.entityMappings where mapping.name != "FolderToBox" {
      mapping.relationshipMappings?.removeAll { $0.name != "box" }
    }
    try sample.migrate()
    sample.mapping.entityMappings = all.filter { $0.name == "TagToTag" || $0.name == "Rest" }
    try sample.migrate()
    try sample.result { (context) throws in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...14).map { "N\($0)" })
      #expect(notes.map { $0.value(forKeyPath: "box.label") as? String } == (0..<14).map { "F\($0 % 3 + 1)" })
      #expect(notes.map { $0.names("tags").count } == (0..<14).map { $0 % 4 })
    }
  }
}
