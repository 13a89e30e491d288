// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Stages of a staged migration, judged against the versions of a model")
struct StageRulesTests {
  /// Versions V1, V2 … that differ by the number of attributes.
  private static func versions(_ counts: [Int], userInfo: [String: PlainValue] = [:]) -> ModelVersions {
    ModelVersions(
      counts.enumerated().map { position, count in
        var order = EntityDocument(name: "Order")
        order.attributes = (1...count).map { AttributeDocument(name: "a\($0)", kind: .string) }
        order.userInfo = userInfo
        let document = ModelDocument(entities: [order])
        return ModelVersion(name: "V\(position + 1)", document: document, versionHashes: VersionHashes(document))
      })
  }

  private static var known: ModelVersions { versions([1, 2, 3, 4]) }

  private static func checksum(_ number: Int, in known: ModelVersions) -> String {
    known.versions[number - 1].versionHashes.checksum
  }

  private static func lightweight(_ numbers: Int..., in known: ModelVersions = known) -> NSMigrationStage {
    NSLightweightMigrationStage(numbers.map { checksum($0, in: known) })
  }

  private static func custom(_ from: Int, _ to: Int, label: String = "", in known: ModelVersions = known)
    -> NSMigrationStage
  {
    func reference(_ number: Int) -> NSManagedObjectModelReference {
      NSManagedObjectModelReference(
        fileURL: URL(fileURLWithPath: "/none"), versionChecksum: checksum(number, in: known))
    }
    let stage = NSCustomMigrationStage(migratingFrom: reference(from), to: reference(to))
    stage.label = label
    return stage
  }

  private func messages(
    _ stages: [NSMigrationStage], _ known: ModelVersions = known, _ edit: (inout ModelLint.Options) -> Void = { _ in }
  ) throws -> [String] {
    var options = ModelLint.Options()
    options.stages = stages
    edit(&options)
    return try ModelLint(known, options).entries.filter { $0.finding.code == .stagesOutOfOrder }
      .map { "\($0.finding.level.rawValue) \($0.version): \($0.finding.message)" }
  }

  @Test("Stages in the order of the versions have no findings, whatever their kinds")
  func inOrder() throws {
    #expect(try messages([Self.lightweight(1, 2, 3, 4)]).isEmpty)
    #expect(try messages([Self.lightweight(1, 2), Self.custom(3, 4)]).isEmpty)
    #expect(try messages([Self.custom(1, 2), Self.custom(2, 3), Self.custom(3, 4)]).isEmpty)
    #expect(try messages([Self.custom(1, 2), Self.lightweight(3, 4)]).isEmpty)
    var options = ModelLint.Options()
    #expect(options.stages == nil)
    options.stages = nil
    #expect(try ModelLint(Self.known, options).entries.isEmpty)
  }

  @Test("A stage that goes back is named by its label or its versions")
  func backwards() throws {
    #expect(
      try messages([Self.custom(1, 3), Self.custom(2, 4, label: "Split")]) == [
        "error V2: stage 2 ('Split') goes back: V2 comes before V3"
      ])
    #expect(
      try messages([Self.lightweight(1, 3, 2, 4)]) == [
        "error V2: stage 1 (V1 to V3 to V2 to V4) goes back: V2 comes before V3"
      ])
    #expect(
      try messages([Self.lightweight(3, 4), Self.custom(1, 2)]) == [
        "error V1: stage 2 (V1 to V2) goes back: V1 comes before V4"
      ])
  }

  @Test("Versions that are left out, named twice, or unknown")
  func gaps() throws {
    #expect(
      try messages([Self.custom(1, 2), Self.lightweight(4)]) == [
        "error V3: no stage has V3, so that stores of it are refused"
      ])
    #expect(
      try messages([Self.lightweight(1, 2, 3)]) == ["error V4: no stage leads to V4, the current version"])
    #expect(
      try messages([Self.lightweight(1, 2), Self.custom(2, 3), Self.lightweight(4)]) == [
        "error V2: stage 2 (V2 to V3) has V2, which stage 1 has already"
      ])
    // Only a custom stage may begin where a custom stage has ended.
    #expect(
      try messages([Self.custom(1, 2), Self.lightweight(2, 3, 4)]) == [
        "error V2: stage 2 (V2 to V3 to V4) has V2, which stage 1 has already"
      ])
    let foreign = NSLightweightMigrationStage(["none"])
    #expect(
      try messages([Self.lightweight(1, 2), foreign, Self.lightweight(3, 4)]) == [
        "error V4: stage 2 (none): no version of the model has the checksum none"
      ])
    #expect(try messages([NSLightweightMigrationStage([]), Self.lightweight(1, 2, 3, 4)]).count == 1)
    #expect(try messages([]).count == 4)
  }

  @Test("Versions after the current one need no stage, and equal versions count as one")
  func currentAndEqual() throws {
    let rules = StageRules([Self.lightweight(1, 2, 3)], Self.known.versions, current: "V3", lock: nil)
    #expect(rules.entries.isEmpty)
    let equal = Self.versions([1, 2, 1, 3])
    #expect(
      try messages([NSLightweightMigrationStage([1, 2, 4].map { Self.checksum($0, in: equal) })], equal).isEmpty)
  }

  @Test("A version that a lock does not have may be left out; levels and allowances apply")
  func weighed() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("coredata.lock")
    // V3 never left the developer's machine.
    let shipped = ModelVersions([0, 1, 3].map { Self.known.versions[$0] })
    _ = try VersionLock.lock(shipped, in: file, model: "M", replacesEdited: false)
    let lock = try VersionLock(contentsOf: file, model: "M")
    let stages = [Self.custom(1, 2), Self.lightweight(4)]
    #expect(
      try messages(stages) { $0.lock = lock } == [
        "info V3: no stage has V3, which is not locked and so has no stores"
      ])
    #expect(
      try messages([Self.custom(1, 3), Self.lightweight(4)]) { $0.lock = lock }.first?.hasPrefix("error V2") == true)
    #expect(try messages(stages) { $0.levels[.stagesOutOfOrder] = .some(.warning) }.first?.hasPrefix("warn V3") == true)
    #expect(try messages(stages) { $0.levels[.stagesOutOfOrder] = .some(nil) }.isEmpty)
    #expect(
      try messages(stages) { $0.allowances = [FindingAllowance(.stagesOutOfOrder)] }.first?.hasPrefix("info V3") == true
    )
    let allowing = Self.versions([1, 2, 3, 4], userInfo: ["coredata.allow": .string("VR406 never shipped")])
    #expect(
      try messages([Self.custom(1, 2, in: allowing), Self.lightweight(4, in: allowing)], allowing).first?
        .hasPrefix("info V3") == true)
  }
}
