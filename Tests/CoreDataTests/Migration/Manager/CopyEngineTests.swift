// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Notes with a policy, and boxes and tags beside them which consist of expressions.
@Suite("Mappings of expressions beside mappings with a policy", .serialized)
struct CopyEngineTests {
  /// Asks for each object, and notes what SQL has made.
  final class WatchingPolicy: NSEntityMigrationPolicy {
    static let name = "CopyEngineWatchingPolicy"

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      let run = manager.running
      let found = manager.userInfo?["found"] as? Found
      found?.made = run.plans.filter { $0.execution.madeRowsInSQL }.map(\.name)
      found?.related = run.plans.filter { $0.execution.setRelationshipsInSQL }.map(\.name)
    }
  }

  final class Found {
    var made: [String] = []
    var related: [String] = []
    var words: [String] = []
  }

  /// Looks for what other mappings have made while the first pass goes on.
  final class AskingPolicy: NSEntityMigrationPolicy {
    static let name = "CopyEngineAskingPolicy"

    override func createDestinationInstances(
      forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
      guard let folder = source.value(forKey: "folder") as? NSManagedObject else { return }
      let boxes = manager.destinationInstances(forEntityMappingName: "FolderToBox", sourceInstances: [folder])
      let back = manager.sourceInstances(forEntityMappingName: "FolderToBox", destinationInstances: boxes)
      let labels = boxes.compactMap { $0.text("label") }
      (manager.userInfo?["found"] as? Found)?.words.append(
        "\(source.text("title") ?? ""): \(labels) \(back.compactMap { $0.text("name") })")
    }
  }

  final class OwnManager: NSMigrationManager, @unchecked Sendable {}

  private func sample(_ policy: NSEntityMigrationPolicy.Type, named name: String, usesSQL: Bool = true) throws
    -> (sample: ManagerSample, found: Found)
  {
    MigrationPolicyClasses.register(policy, as: name)
    let sample = try ManagerSample(folders: 3, notes: 8)
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    sample["NoteToNote"].entityMigrationPolicyClassName = name
    sample["FolderToBox"].attributeMappings = ManagerSample.properties([
      "label": "FUNCTION(FUNCTION($source.name, 'lowercaseString'), 'stringByAppendingString:', '!')"
    ])
    let found = Found()
    sample.manager.userInfo = ["found": found]
    return (sample, found)
  }

  @Test("Are carried out by SQL, with the results that objects give", arguments: [false, true])
  func results(_ usesSQL: Bool) throws {
    let (sample, found) = try sample(WatchingPolicy.self, named: WatchingPolicy.name, usesSQL: usesSQL)
    try sample.migrate()
    #expect(found.made == (usesSQL ? ["FolderToBox", "TagToTag"] : []))
    #expect(found.related == found.made)
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == (1...8).map { "N\($0)" })
      #expect(notes.map { $0.value(forKeyPath: "box.label") as? String } == (0..<8).map { "f\($0 % 3 + 1)!" })
      #expect(notes.map { $0.names("tags").count } == (0..<8).map { $0 % 4 })
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title") } == [["N1", "N4", "N7"], ["N2", "N5", "N8"], ["N3", "N6"]])
      #expect(boxes.map { $0.objectID.uriRepresentation().lastPathComponent } == ["p1", "p2", "p3"])
    }
  }

  @Test("Relate rows that lie far apart", arguments: [false, true])
  func sparse(_ usesSQL: Bool) throws {
    MigrationPolicyClasses.register(WatchingPolicy.self, as: WatchingPolicy.name)
    let sample = try ManagerSample(folders: 40, notes: 80)
    sample.manager.usesStoreSpecificMigrationManager = usesSQL
    sample["NoteToNote"].entityMigrationPolicyClassName = WatchingPolicy.name
    sample["NoteToNote"].relationshipMappings = []
    let links = ["notes": ManagerSample.of("NoteToNote", "notes")]
    let filter = "name IN {'F1', 'F2', 'F40'}"
    sample.mapping.entityMappings[0] = ManagerSample.entity(
      "FolderToBox", "Folder", "Box", ["label": "$source.name"], links, filter: filter)
    let found = Found()
    sample.manager.userInfo = ["found": found]
    try sample.migrate(batchSize: 500)
    #expect(found.related.contains("FolderToBox") == usesSQL)
    try sample.result { context in
      let boxes = try context.all("Box", by: "label")
      #expect(boxes.map { $0.names("notes", "title") } == [["N1", "N41"], ["N2", "N42"], ["N40", "N80"]])
    }
  }

  @Test("Are found by policies during the first pass, filtered ones too", arguments: [false, true])
  func associations(_ usesSQL: Bool) throws {
    for filter in ["TRUEPREDICATE", "name != 'F2'", "notes.@count == 3 AND name MATCHES[c] 'f[13]'"] {
      let (sample, found) = try sample(AskingPolicy.self, named: AskingPolicy.name, usesSQL: usesSQL)
      let label = ["label": "$source.name"]
      sample.mapping.entityMappings[0] = ManagerSample.entity("FolderToBox", "Folder", "Box", label, filter: filter)
      try sample.migrate()
      let isThere = { (name: String) in filter == "TRUEPREDICATE" || name != "F2" }
      let expected = (0..<8).map { number in
        let name = "F\(number % 3 + 1)"
        // The third has two notes.
        let isMade = isThere(name) && !(filter.hasPrefix("notes") && name == "F3")
        return "N\(number + 1): \(isMade ? [name] : []) \(isMade ? [name] : [])"
      }
      #expect(found.words == expected, "\(filter)")
    }
  }

  @Test("Go by objects where SQL cannot answer, or an app's own manager is to be told")
  func barriers() throws {
    let barriers = [
      "FUNCTION($manager, 'valueForKey:', 'migrationProgress')", "$entityPolicy.description", "$manager.userInfo.count",
    ]
    for expression in ["$source.name", "FUNCTION($source.notes, 'count')"] + barriers {
      let (sample, found) = try sample(WatchingPolicy.self, named: WatchingPolicy.name)
      sample["FolderToBox"].attributeMappings = ManagerSample.properties(["label": expression])
      // What the expressions say is of no interest here.
      do { try sample.migrate() } catch { continue }
      #expect(found.made.contains("FolderToBox") == !barriers.contains(expression), "\(expression)")
    }
    let (sample, found) = try sample(WatchingPolicy.self, named: WatchingPolicy.name)
    let own = OwnManager(sourceModel: sample.old, destinationModel: sample.new)
    own.userInfo = sample.manager.userInfo
    sample.manager = own
    try sample.migrate()
    #expect(found.made == [])
  }

  @Test("Fail with what objects tell of it, and leave nothing in a new store or an old one", arguments: [false, true])
  func failure(_ usesSQL: Bool) throws {
    for hasDestination in [false, true] {
      let (sample, _) = try sample(WatchingPolicy.self, named: WatchingPolicy.name, usesSQL: usesSQL)
      if hasDestination { try sample.migrate(batchSize: 1) }
      sample["FolderToBox"].attributeMappings = ManagerSample.properties([
        "label": "FUNCTION(FUNCTION($source.name, 'componentsSeparatedByString:', 'F'), 'objectAtIndex:', 1)"
      ])
      // Two folders have a second part.
      try sample.store.open(sample.store.url, ManagerSample.first()) { (context) throws in
        try context.all("Folder", by: "name").last?.setValue("Third", forKey: "name")
        try context.save()
      }
      let error = try #require(throws: NSError.self) { try sample.migrate(batchSize: 1) }
      #expect(error.code == NSMigrationError)
      #expect(error.localizedFailureReason?.contains("objectAtIndex:") == true, "\(error)")
    }
  }

  @Test("Take away the files of values where they fail", arguments: [false, true])
  func externalData(_ usesSQL: Bool) throws {
    MigrationPolicyClasses.register(WatchingPolicy.self, as: WatchingPolicy.name)
    func model(_ isNew: Bool) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity(
        "Picture",
        [
          .make("size", isNew ? .integer16AttributeType : .integer64AttributeType),
          .make("image", .binaryDataAttributeType, external: true),
        ])
      return builder.model()
    }
    let store = try TemporaryStore()
    let context = try store.context(model(false))
    for size in [1, 2, 100_000] {
      context.make("Picture", ["size": size, "image": Data(repeating: UInt8(size % 200), count: 150_000)])
    }
    try context.save()
    try store.close()
    let target = store.folder.appendingPathComponent("New.sqlite")
    func migrate(_ filter: String) throws -> Found {
      let manager = NSMigrationManager(sourceModel: model(false), destinationModel: model(true))
      manager.usesStoreSpecificMigrationManager = usesSQL
      let found = Found()
      manager.userInfo = ["found": found]
      let values = ["size": "$source.size", "image": "$source.image"]
      let mapping = NSMappingModel()
      mapping.entityMappings = [
        ManagerSample.entity("Pictures", "Picture", "Picture", values, filter: filter),
        ManagerSample.entity("None", "Picture", "Picture", values, filter: "size == 0"),
      ]
      mapping.entityMappings[1].entityMigrationPolicyClassName = WatchingPolicy.name
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
      return found
    }
    let before = try ManagerSample.Snapshot.externalFiles(of: store.url)
    #expect(try migrate("size < 3").made == (usesSQL ? ["Pictures"] : []))
    let made = try ManagerSample.Snapshot.externalFiles(of: target)
    #expect(made.count == 2)
    let content = try FileContent(target)
    // The type has no room for one of the sizes.
    #expect(throws: NSError.self) { try migrate("TRUEPREDICATE") }
    #expect(try ManagerSample.Snapshot.externalFiles(of: target) == made)
    #expect(try FileContent(target) == content)
    #expect(try ManagerSample.Snapshot.externalFiles(of: store.url) == before)
    try store.open(target, model(true)) { (context) throws in
      let pictures = try context.all("Picture", by: "size")
      #expect(pictures.map { ($0.value(forKey: "image") as? Data)?.count } == [150_000, 150_000])
    }
  }

  @Test("In random models with a policy for every other mapping", arguments: [40, 900], [false, true])
  func generated(_ first: UInt64, usesSQL: Bool) throws {
    MigrationPolicyClasses.register(WatchingPolicy.self, as: WatchingPolicy.name)
    var (count, related) = (0, 0)
    for (number, prepared) in try PreparedMigration.some(TortureSize.isFull ? 12 : 4, from: first).enumerated() {
      let destination = prepared.store.folder.appendingPathComponent("Destination.sqlite")
      let (old, new) = (
        try NSManagedObjectModel(document: prepared.old), try NSManagedObjectModel(document: prepared.new)
      )
      let content = try FileContent(prepared.store.url)
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      for (position, entity) in mapping.entityMappings.enumerated() where (position + number) % 2 == 0 {
        entity.entityMigrationPolicyClassName = WatchingPolicy.name
      }
      let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
      manager.batchSize = 2
      manager.usesStoreSpecificMigrationManager = usesSQL
      let found = Found()
      manager.userInfo = ["found": found]
      try manager.migrateStore(
        from: prepared.store.url, type: .sqlite, mapping: mapping, to: destination, type: .sqlite)
      count += found.made.count
      related += found.related.count
      #expect(try FileContent(prepared.store.url) == content)
      let checked = try NSManagedObjectModel(document: prepared.new)
      try StoreChecks.check(destination, checked)
      try StoreChecks.checkJoins(destination, checked)
      try prepared.store.open(destination, checked) { context in
        let image = try StoreImage(context, prepared.new)
        #expect(prepared.differences(image) == [])
      }
    }
    let (least, leastRelated) = TortureSize.isFull ? (12, 2) : (4, 0)
    #expect(usesSQL ? count > least && related > leastRelated : count == 0, "\(count) \(related)")
  }
}
