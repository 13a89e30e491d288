// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores made by Apple's Core Data, opened with newer models", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct FixtureOpeningTests {
  struct Opening: Hashable, CustomStringConvertible, Sendable {
    let store: URL
    let models: URL
    let version: String

    var description: String { "\(Fixtures.name(of: store)) with \(Fixtures.name(of: models)), \(version)" }
  }

  /// Every store with the newest version of every model that has later versions than its own.
  static let openings: [Opening] = {
    var newest: [[URL]: String] = [:]
    for journey in FixtureMigrationTests.journeys { newest[[journey.store, journey.models]] = journey.version }
    return newest.map { Opening(store: $0.key[0], models: $0.key[1], version: $0.value) }
      .sorted { $0.description < $1.description }
  }()

  /// What became of the stores, for the report.
  private static func note(_ text: String) { print("opening: \(text)") }

  @Test("Each reaches the newest version by being opened", arguments: openings)
  func open(_ opening: Opening) throws {
    let temporary = try Fixtures.copy(ofStore: opening.store)
    let copy = temporary.url
    let before = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy)
    let model = try NSManagedObjectModel.load(contentsOf: opening.models, version: opening.version)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    do {
      try coordinator.addPersistentStore(
        type: .sqlite, at: copy,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.models: [URL](), MigrationOption.mappings: [opening.models.deletingLastPathComponent()],
          // Some versions are of branches that lack what the store's own version has.
          MigrationOption.allowsLoss: true,
        ])
    } catch let error as NSError
      where error.code == NSMigrationMissingMappingModelError || FixtureMigrationTests.isMissingValue(error)
      || error.localizedFailureReason?.contains("names as its migration policy") == true
    {
      // What cannot be done must be said with a cure, and changes nothing.
      #expect(error.localizedRecoverySuggestion?.isEmpty == false)
      let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy)
      #expect(
        after[NSStoreModelVersionHashesKey] as? [String: Data] == before[NSStoreModelVersionHashesKey]
          as? [String: Data])
      Self.note("refused: \(opening): \(error.localizedFailureReason ?? "")")
      return
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy)
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: after))
    #expect(after[NSStoreUUIDKey] as? String == before[NSStoreUUIDKey] as? String)
    let checked = try NSManagedObjectModel.load(contentsOf: opening.models, version: opening.version)
    try StoreChecks.check(copy, checked)
    Self.note("reached: \(opening)")
  }

  @Test("There are such stores")
  func count() {
    Self.note("\(Self.openings.count) openings of \(Set(Self.openings.map(\.store)).count) stores")
    #expect(Self.openings.count > 5)
  }
}
