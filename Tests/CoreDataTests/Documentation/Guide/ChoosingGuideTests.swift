// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Choosing a migration".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The guide on choosing a migration")
struct ChoosingGuideTests {
  private static let first = """
    <entity name="Film">
      <attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="year" optional="YES" attributeType="String"/>
    </entity>
    """
  private static let second = """
    <entity name="Film">
      <attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="year" optional="YES" attributeType="Integer 16"/>
    </entity>
    """
  private static let typeReason = """
    Source and destination attribute types are incompatible: 'year' of entity 'Film' is String in the source,
    Integer 16 in the destination.
    """

  @Test("Inference answers with a reason")
  func infer() throws {
    let films = try GuideVersions("Films", [Self.first, Self.second])
    let (old, new) = (try films.model(1), try films.model(2))
    // guide: choosing-infer
    var reason: String?
    do {
      _ = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    } catch let error as NSError where error.code == NSInferredMappingModelError {
      reason = error.localizedFailureReason
    }
    // end
    #expect(reason == Self.typeReason.replacingOccurrences(of: "\n", with: " "))
  }

  @Test("Several reasons are errors of their own")
  func several() throws {
    let worse = Self.second.replacingOccurrences(
      of: "name=\"title\" optional=\"YES\" attributeType=\"String\"",
      with: "name=\"title\" optional=\"YES\" attributeType=\"Date\"")
    let films = try GuideVersions("Films", [Self.first, worse])
    let (old, new) = (try films.model(1), try films.model(2))
    let error = try #require(throws: NSError.self) {
      _ = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    }
    let details = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? []
    #expect(details.map { $0.userInfo["property"] as? String } == ["title", "year"])
    #expect(details.allSatisfy { $0.userInfo["entity"] as? String == "Film" })
  }

  private static let removes = """
    Films 2 removes year of Film
    """

  @Test("The plan changes nothing")
  func plan() throws {
    let films = try GuideVersions(
      "Films", [Self.first, Self.first.replacingOccurrences(of: "name=\"year\"", with: "name=\"made\"")])
    try films.fill { $0.make("Film", ["year": "1957"]) }
    let (modelURL, storeURL) = (films.modelURL, films.storeURL)
    // guide: choosing-plan
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL)
    var lines: [String] = []
    for step in migration.steps {
      for mapping in step.mappingModel.entityMappings ?? [] {
        let removed = mapping.userInfo?["removedProperties"] as? Set<String> ?? []
        lines += removed.sorted().map { "\(step.destination) removes \($0) of \(mapping.sourceEntityName ?? "")" }
      }
    }
    print(lines.joined(separator: "\n"))
    // end
    #expect(lines.joined(separator: "\n") == Self.removes)
    #expect(try films.version() == 1)
  }

  private static let refusedReason = """
    The model used to open the store is incompatible with the one used to create the store: The property 'year' of
    entity 'Film': type is String in the store, Integer 16 in the model.
    """

  @Test("Without the options a coordinator refuses the store: 134100")
  func refused() throws {
    let films = try GuideVersions("Films", [Self.first, Self.second])
    try films.fill { $0.make("Film") }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try films.model(2))
    let error = try #require(throws: NSError.self) {
      try coordinator.addPersistentStore(type: .sqlite, at: films.storeURL)
    }
    #expect(error.code == NSPersistentStoreIncompatibleVersionHashError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.hasPrefix(Self.refusedReason.replacingOccurrences(of: "\n", with: " ")), "\(reason)")
  }

  private static let openingReason = """
    Can't find mapping model for migration from 'Films' to 'Films 2'. Source and destination attribute types are
    incompatible: 'year' of entity 'Film' is String in the source, Integer 16 in the destination.
    """

  @Test("Opening a store whose migration cannot be inferred fails with 134140, and 134190 is the underlying error")
  func opening() throws {
    let films = try GuideVersions("Films", [Self.first, Self.second])
    try films.fill { $0.make("Film") }
    let container = NSPersistentContainer(name: "Films", managedObjectModel: try films.model(2))
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: films.storeURL)]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    let error = try #require(failure as NSError?)
    #expect(error.code == NSMigrationMissingMappingModelError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.hasPrefix(Self.openingReason.replacingOccurrences(of: "\n", with: " ")), "\(reason)")
    #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == NSInferredMappingModelError)
    #expect(error.userInfo["entity"] as? String == "Film" && error.userInfo["property"] as? String == "year")
  }
}
