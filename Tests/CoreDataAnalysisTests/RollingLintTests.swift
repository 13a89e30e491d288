// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataAnalysis

@Suite("What a step means for programs with the old version")
struct RollingLintTests {
  /// An item with a note, and a tag of it.
  private func model(
    _ attributes: [NSAttributeDescription] = [], without: Set<String> = [],
    change: (NSEntityDescription) -> Void = { _ in }, tags: Bool = false, parent: Bool = false
  ) -> ModelDocument {
    var builder = ModelBuilder()
    if parent { builder.entity("Base", [.make("name", .stringAttributeType)]) }
    let own: [NSAttributeDescription] = [
      .make("name", .stringAttributeType), .make("count", .integer64AttributeType), .make("note", .stringAttributeType),
    ].filter { !without.contains($0.name) }
    let item = builder.entity("Item", own + attributes)
    builder.entity("Tag", [.make("title", .stringAttributeType)])
    builder.relate(.init("Tag", "items", toMany: true), .init("Item", "tag", toMany: tags))
    change(item)
    return builder.model().document
  }

  private func verdict(_ new: ModelDocument, from old: ModelDocument? = nil) throws -> RollingJudgement {
    try RollingJudgement(from: old ?? model(), to: new, values: FrameworkValues())
  }

  @Test("Changes of the catalogue are compatible")
  func compatible() throws {
    let documents = [
      model([.make("extra", .stringAttributeType)]),
      model([.make("extra", .integer32AttributeType, optional: false, default: 7)]),
      model([.make("comment", .stringAttributeType, renamedFrom: "note")], without: ["note"]),
      model(without: ["note"]), model(parent: true),
    ]
    for document in documents {
      let judgement = try verdict(document)
      #expect(judgement.verdict == .compatible && judgement.work.isEmpty, "\(judgement)")
      #expect(judgement.sentence == "Their reads and saves wait for an instant.")
    }
  }

  @Test("An index lets others read")
  func readOnly() throws {
    let indexed = model(change: { item in
      guard let name = item.propertiesByName["name"] else { return }
      item.indexes = [
        NSFetchIndexDescription(
          name: "byName", elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
      ]
    })
    let judgement = try verdict(indexed)
    #expect(judgement.verdict == .readOnly && judgement.unreadable.isEmpty, "\(judgement)")
    #expect(
      judgement.sentence
        == "They can read, and their saves wait while the migration builds an index of zitem.")
  }

  @Test("What changes or reads the rows of a table that others must not read stops them")
  func stopFirst() throws {
    let documents = [
      model([.make("count", .doubleAttributeType)], without: ["count"]),
      model([.make("note", .stringAttributeType, optional: false, default: "none")], without: ["note"]),
      model(change: { $0.uniquenessConstraints = [["name"]] }), model(tags: true),
    ]
    for document in documents {
      let judgement = try verdict(document)
      #expect(judgement.verdict == .stopFirst && judgement.unreadable.contains("zitem"), "\(judgement)")
      #expect(judgement.sentence.contains("their reads of ") && judgement.sentence.contains("zitem"), "\(judgement)")
    }
    let copied = RollingJudgement(copiedBecause: "a mapping model needs the objects")
    #expect(copied.verdict == .stopFirst && copied.sentence.hasSuffix("back: a mapping model needs the objects."))
  }
}
