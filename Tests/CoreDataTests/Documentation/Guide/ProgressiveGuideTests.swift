// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Progressive migration".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The guide on progressive migration", .serialized)
struct ProgressiveGuideTests {
  private static let first = """
    <entity name="Item">
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="price" optional="YES" attributeType="Double"/>
    </entity>
    """
  private static let second = """
    <entity name="Item">
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="cents" optional="YES" attributeType="Integer 32"/>
    </entity>
    """
  private static let third = """
    <entity name="Item">
      <attribute name="title" optional="YES" attributeType="String" elementID="name"/>
      <attribute name="cents" optional="YES" attributeType="Integer 32"/>
    </entity>
    """
  private static let inCents = """
    versions "Shop" -> "Shop 2"

    ItemToItem   transform   Item -> Item
      name   attribute  $source.name
      cents  attribute  floor:($source.price * 100 + 0.5)
    """

  private static let steps = """
    Shop -> Shop 2: mapping
    Shop 2 -> Shop 3: inferred
    """

  private static let reasons = """
    Mapping models are on the path from 'Shop' to 'Shop 3'; inferred steps lead to and from them, and none bypasses them.
    The mapping model 'Shop.mapping' is for these two versions.
    No mapping model is for these two versions; one can be inferred.
    """

  private func shop(_ versions: [String] = [first, second, third], items: Int = 2) throws -> GuideVersions {
    let shop = try GuideVersions("Shop", versions)
    try shop.fill { context in
      context.make("Item", ["name": "Tea", "price": 9.99])
      for number in 1..<items { context.make("Item", ["name": "Cup \(number)", "price": 2.5]) }
    }
    return shop
  }

  @Test("A mapping model for one pair of versions, and inference for the other")
  func steps() throws {
    let shop = try shop()
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    let (modelURL, storeURL) = (shop.modelURL, shop.storeURL)
    // guide: progressive-plan
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let steps = migration.steps.map { "\($0.source) -> \($0.destination): \($0.kind)" }
    print(steps.joined(separator: "\n"))
    let reasons = migration.explanation + migration.steps.map(\.reason)
    // end
    #expect(reasons.joined(separator: "\n") == Self.reasons)
    #expect(steps.joined(separator: "\n") == Self.steps)
    try migration.run()
    #expect(try shop.rows("Item", "title", "cents", version: 3) == ["Cup 1, 250", "Tea, 999"])
    #expect(FileManager.default.fileExists(atPath: shop.folder.appendingPathComponent("Shop~.sqlite").path))
  }

  @Test("A store of the second version takes the last step only, in place")
  func fromSecond() throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second, Self.third])
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    try shop.fill(2) { $0.make("Item", ["name": "Tea", "cents": 999]) }
    let migration = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL])
    #expect(migration.steps.map(\.source) == ["Shop 2"] && migration.steps.map(\.isInPlace) == [true])
    try migration.run()
    #expect(try shop.rows("Item", "title", "cents", version: 3) == ["Tea, 999"])
  }

  @Test("In one step, as Apple's framework does it, the mapping model does not fit and the price would be dropped")
  func oneStep() throws {
    let shop = try shop()
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    let migration = try StoreMigration(
      storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL], isProgressive: false)
    #expect(migration.steps.map(\.kind) == [.inferred] && migration.steps.map(\.destination) == ["Shop 3"])
    try migration.run()
    #expect(try shop.rows("Item", "title", "cents", version: 3) == ["Cup 1, nil", "Tea, nil"])
  }

  @Test("The mapping model is used even where all could be inferred, and is missing where it is not given")
  func withoutMapping() throws {
    let shop = try shop()
    try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL).run()
    #expect(try shop.rows("Item", "title", "cents", version: 3) == ["Cup 1, nil", "Tea, nil"])
  }

  @Test("An error that the progress handler throws cancels the migration: 134120")
  func cancelled() throws {
    let shop = try shop(items: 3_000)
    let (modelURL, storeURL) = (shop.modelURL, shop.storeURL)
    let isCancelled = Guarded(true)
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL)
    // guide: progressive-cancel
    do {
      try migration.run { progress in
        print("\(Int(progress.fractionCompleted * 100)) %, step \(progress.step) of \(progress.stepCount)")
        if isCancelled.value { throw CancellationError() }
      }
    } catch let error as NSError where error.code == NSMigrationCancelledError {
      print("The store was not changed.")
    }
    // end
    #expect(try shop.version() == 1)
    #expect(throws: (any Error).self) { try migration.run { _ in throw CancellationError() } }
  }

  @Test("A process that is killed in the second step leaves the store of the first version; the next one migrates it")
  func killed() async throws {
    let shop = try shop(items: 3_000)
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    let (modelURL, storeURL) = (shop.modelURL, shop.storeURL)
    let (modelPath, storePath, mappingPath) = (modelURL.path, storeURL.path, mappingURL.path)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [modelPath = modelPath as String, storePath = storePath as String, mappingPath = mappingPath as String] in
      let migration = try StoreMigration(
        storeAt: URL(fileURLWithPath: storePath), modelsAt: URL(fileURLWithPath: modelPath),
        mappings: [URL(fileURLWithPath: mappingPath)])
      try migration.run { progress in
        if progress.step == 2 { kill(getpid(), SIGKILL) }
      }
    }
    #expect(try shop.version() == 1)
    // guide: progressive-unfinished
    if let work = try StoreRecovery.inspect(storeAt: storeURL) {
      print("\(work.purpose?.rawValue ?? "work") from \(work.source ?? "-") to \(work.destination ?? "-")")
    }
    // end
    let work = try #require(try StoreRecovery.inspect(storeAt: storeURL))
    #expect(work.purpose == .migration && work.source == "Shop" && work.destination == "Shop 3" && !work.isRunning)
    // guide: progressive-again
    let again = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let report = try again.run()
    let outcome = report.recoveryOutcome
    // end
    #expect(outcome == .undone)
    #expect(report.rows["Item"]?.after == 3_000)
    #expect(try shop.version() == 3)
    #expect(try StoreRecovery.inspect(storeAt: storeURL) == nil)
  }

  private static let staleError = """
    The mapping model 'Shop.cdm' is for the migration from 'Shop' to 'Shop 2', but was made for other states of
    these versions, so it cannot be used.
    """

  @Test("A compiled mapping model of another state of a version is an error: 134140")
  func stale() throws {
    let edited = try GuideVersions(
      "Shop",
      [
        Self.first.replacingOccurrences(
          of: "</entity>", with: "  <attribute name=\"code\" optional=\"YES\" attributeType=\"String\"/>\n</entity>"),
        Self.second,
      ])
    let shop = try shop()
    let (old, new) = (try edited.model(1), try edited.model(2))
    let compiled = shop.folder.appendingPathComponent("Shop.cdm")
    try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
      .write(to: compiled, sourceModel: old, destinationModel: new)
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [compiled])
    }
    #expect(error.code == NSMigrationMissingMappingModelError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.hasPrefix(Self.staleError.replacingOccurrences(of: "\n", with: " ")), "\(reason)")
    #expect(error.userInfo["mappingHash"] != nil && error.userInfo["modelHash"] != nil)
  }

  private static let unreadableError = """
    The migration from 'Shop' to 'Shop 3' would skip the version 'Shop 2', and lose its renamings and default values:
    it cannot be read.
    """

  @Test("A version that cannot be read is an error where an inferred step would pass over it")
  func unreadable() throws {
    let shop = try shop()
    try shop.write("<model>", to: "Shop.xcdatamodeld/Shop 2.xcdatamodel/contents")
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL)
    }
    #expect(error.code == NSFileReadCorruptFileError)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.hasPrefix(Self.unreadableError.replacingOccurrences(of: "\n", with: " ")), "\(reason)")
  }

  @Test("The path between two versions needs no store")
  func path() throws {
    let shop = try shop()
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    let modelURL = shop.modelURL
    // guide: progressive-path
    let path = try MigrationPath(modelsAt: modelURL, from: "Shop", mappings: [mappingURL])
    let kinds = path.steps.map(\.kind)
    // end
    #expect(kinds == [.mapping, .inferred])
  }

  @Test("Without rounding, a product loses its fraction")
  func fraction() throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second])
    try shop.fill { $0.make("Item", ["name": "Tea", "price": 1.15]) }
    let mappingURL = try shop.write(
      Self.inCents.replacingOccurrences(of: "floor:($source.price * 100 + 0.5)", with: "$source.price * 100"),
      to: "Shop.mapping")
    try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(try shop.rows("Item", "cents", version: 2) == ["114"])
  }

  @Test("A replaced store that is not kept is gone")
  func notKept() throws {
    let shop = try shop()
    let mappingURL = try shop.write(Self.inCents, to: "Shop.mapping")
    var migration = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL])
    migration.keepsReplacedStore = false
    try migration.run()
    #expect(!FileManager.default.fileExists(atPath: shop.folder.appendingPathComponent("Shop~.sqlite").path))
  }
}
