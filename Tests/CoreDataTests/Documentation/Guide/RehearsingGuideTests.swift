// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Rehearsing in continuous integration".

import CoreData
import CoreDataAnalysis
import CoreDataTestSupport
import CoreDataTesting
import Foundation
import Testing

@Suite("The guide on rehearsing")
struct RehearsingGuideTests {
  private static let first = """
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <attribute name="note" optional="YES" attributeType="String"/>
    </entity>
    """
  private static let second = """
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <attribute name="notes" optional="YES" attributeType="String" elementID="note"/>
    </entity>
    """
  private static let third = """
    <entity name="Order">
      <attribute name="number" attributeType="String"/>
      <attribute name="notes" optional="YES" attributeType="String" elementID="note"/>
    </entity>
    """

  private static let cases = """
    Shop -> Shop 2, extreme: Shop -> Shop 2
    Shop -> Shop 2, plain: Shop -> Shop 2
    Shop -> Shop 2, single: Shop -> Shop 2
    """

  @Test("Stores of every version are made, filled, migrated and compared")
  func everyVersion() async throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second])
    defer { withExtendedLifetime(shop) {} }
    let modelURL = shop.modelURL
    // guide: rehearse
    let rehearsal = try await expectMigration(of: modelURL, from: .everyVersion)
    for item in rehearsal.cases { print("\(item.name): \(item.path.joined(separator: " -> "))") }
    // end
    let lines = rehearsal.cases.map { "\($0.name): \($0.path.joined(separator: " -> "))" }
    #expect(lines.joined(separator: "\n") == Self.cases)
    #expect(rehearsal.isSuccess)
  }

  private static let noPath = """
    A mapping model could not be inferred. Source and destination attribute types are incompatible: 'number' of
    entity 'Order' is Integer 32 in the source, String in the destination.
    """

  @Test("A version without a path to the current one is a failure, and its store is kept")
  func failing() async throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second, Self.third])
    defer { withExtendedLifetime(shop) {} }
    let (modelURL, directory) = (shop.modelURL, shop.folder.appendingPathComponent("Failed"))
    let failure = try await #require(throws: MigrationExpectationFailure.self) {
      // guide: rehearse-kept
      try await expectMigration(of: modelURL, seed: 7, keptIn: directory)
      // end
    }
    let text = failure.description
    #expect(text.hasPrefix("Shop -> Shop 3, extreme (seed 7):\n"))
    #expect(text.contains(Self.noPath.replacingOccurrences(of: "\n", with: " ")))
    #expect(text.contains("The store is kept: \(directory.path)/"))
  }

  private static let strict = """
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <attribute name="notes" optional="YES" attributeType="String" elementID="note"/>
      <attribute name="customer" attributeType="String"/>
    </entity>
    """

  @Test("A version whose rows are refused is a failure, unless that is expected")
  func refused() async throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second, Self.strict])
    defer { withExtendedLifetime(shop) {} }
    let modelURL = shop.modelURL
    let failure = try await #require(throws: MigrationExpectationFailure.self) {
      try await expectMigration(of: modelURL)
    }
    #expect(failure.description.hasPrefix("No store of 'Shop' with rows reached 'Shop 3': 3 were refused."))
    // guide: rehearse-refusal
    try await expectMigration(of: modelURL, expecting: [.refusal(from: "Shop"), .refusal(from: "Shop 2")])
    // end
  }

  @Test("With the mapping models and policies of the app")
  func mappings() async throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second, Self.third])
    defer { withExtendedLifetime(shop) {} }
    let modelURL = shop.modelURL
    let mappingURL = try shop.write(
      """
      versions "Shop 2" -> "Shop 3"

      OrderToOrder   transform   Order -> Order
        number  attribute  TERNARY($source.number == nil, "", CAST($source.number, "NSString"))
        notes   attribute  $source.notes
      """, to: "Shop.mapping")
    // guide: rehearse-mappings
    let rehearsal = try await expectMigration(of: modelURL, mappings: [mappingURL])
    // end
    #expect(rehearsal.cases.count == 6)
  }

  @Test("Stores of shipped releases")
  func fixtures() async throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second])
    try shop.fill { $0.make("Order", ["number": 1, "note": "urgent"]) }
    let (modelURL, storeURL) = (shop.modelURL, shop.storeURL)
    // guide: rehearse-stores
    try await expectMigration(of: modelURL, from: .stores([storeURL]))
    // end
    #expect(try shop.version() == 1)
  }

  private static let findings = """
    Shop 2: DS102 the attribute is removed
    Shop 2: CM301 probably note under another name (likeness 86 %), without a renaming identifier
    """

  @Test("Lint in a test")
  func lint() throws {
    let shop = try GuideVersions(
      "Shop", [Self.first, Self.second.replacingOccurrences(of: " elementID=\"note\"", with: "")]
    )
    defer { withExtendedLifetime(shop) {} }
    let modelURL = shop.modelURL
    // guide: rehearse-lint
    var options = ModelLint.Options()
    options.includesAllSteps = true
    let lint = try ModelLint(modelsAt: modelURL, options: options)
    let findings = lint.entries.map { "\($0.version): \($0.finding.code.rawValue) \($0.finding.message)" }
    // end
    #expect(findings.joined(separator: "\n") == Self.findings)
    #expect(lint.count(of: .error) == 1)
  }

  @Test("The stages of an app are checked against the versions")
  func stages() throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second, Self.third])
    defer { withExtendedLifetime(shop) {} }
    let modelURL = shop.modelURL
    let stages: [NSMigrationStage] = [
      NSLightweightMigrationStage([try shop.model(1).versionChecksum, try shop.model(3).versionChecksum])
    ]
    // guide: rehearse-stages
    var options = ModelLint.Options()
    options.stages = stages
    let findings = try ModelLint(modelsAt: modelURL, options: options).entries.filter {
      $0.finding.code == .stagesOutOfOrder
    }
    // end
    #expect(findings.map(\.finding.message) == ["no stage has Shop 2, so that stores of it are refused"])
  }

  @Test("The lock is read by a test, and tells which shipped version was edited")
  func lock() throws {
    let shop = try GuideVersions("Shop", [Self.first, Self.second])
    defer { withExtendedLifetime(shop) {} }
    let (modelURL, lockURL) = (shop.modelURL, shop.folder.appendingPathComponent("coredata.lock"))
    _ = try VersionLock.lock(
      ModelVersions(contentsOf: modelURL), in: lockURL, model: "Shop.xcdatamodeld", replacesEdited: false)
    try shop.write(
      "<model>\(Self.first.replacingOccurrences(of: "Integer 32", with: "Integer 64"))</model>",
      to: "Shop.xcdatamodeld/Shop.xcdatamodel/contents")
    // guide: rehearse-lock
    var options = ModelLint.Options()
    options.lock = try VersionLock(contentsOf: lockURL, model: "Shop.xcdatamodeld")
    let lint = try ModelLint(modelsAt: modelURL, options: options)
    let edited = lint.entries.filter { $0.finding.code == .shippedVersionEdited }.map(\.version)
    // end
    #expect(edited == ["Shop"])
  }
}
