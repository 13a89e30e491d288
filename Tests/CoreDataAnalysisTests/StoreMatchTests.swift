// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Testing

@testable import CoreDataAnalysis

@Suite("Which version wrote a store")
struct StoreMatchTests {
  private let first = orderModel()
  private let second = orderModel { $0.attributes.append(AttributeDocument(name: "note", kind: .string)) }
  private let third = orderModel {
    $0.attributes.append(AttributeDocument(name: "note", kind: .string))
    $0.attributes.append(AttributeDocument(name: "vat", kind: .decimal))
  }

  private func match(_ store: ModelDocument, known: Bool = true, current: String? = nil) -> StoreMatch {
    StoreMatch(
      storeHashes: VersionHashes(store).entities, storeModel: known ? store : nil,
      versions: [("1", first), ("3", third)], current: current)
  }

  @Test("The version with the store's hashes is found, with or without a model in the store")
  func exact() {
    #expect(match(third).version == "3")
    #expect(match(first, known: false).version == "1")
    #expect(match(first).differences.isEmpty)
  }

  @Test("Without a match the nearest is told, property by property")
  func nearest() {
    let found = match(second, current: "3")
    #expect(found.version == nil)
    #expect(found.nearest == "3")
    #expect(found.differences.map(\.entity) == ["Order"])
    #expect(found.differences.map(\.property) == ["vat"])
    #expect(found.differences.map(\.change) == ["only in model"])
  }

  @Test("Of versions with equal hashes all are told; the store's identifier chooses one, else the current one is taken")
  func equalHashes() {
    var (named, current) = (first, first)
    named.versionIdentifiers = ["build 7"]
    current.versionIdentifiers = ["build 9"]
    func match(_ identifiers: [String]) -> StoreMatch {
      StoreMatch(
        storeHashes: VersionHashes(first).entities, storeModel: nil,
        versions: [("1", first), ("2", named), ("3", current), ("4", third)], identifiers: identifiers, current: "3")
    }
    #expect(match(["build 7"]).version == "2")
    #expect(match(["1"]).version == "1")
    #expect(match([""]).version == "3")
    #expect(match([]).versions == ["1", "2", "3"])
    #expect(match([]).equalVersions == "1 and 2 have the same version hashes")
    #expect(self.match(first).equalVersions == nil)
    #expect(match([]).versionText == "1 or 2 or 3" && !match([]).isCertain)
    #expect(match(["build 7"]).versionText == "2" && match(["build 7"]).isCertain)
    #expect(self.match(first).versionText == "1" && self.match(second).versionText == nil)
  }

  @Test("Three versions are near at most, and none that has no entity in common")
  func fewNear() {
    let versions = (1...9).map { number in
      (
        name: "\(number)",
        document: orderModel { order in
          for position in 0..<number { order.attributes.append(AttributeDocument(name: "x\(position)", kind: .string)) }
        }
      )
    }
    let found = StoreMatch(storeHashes: VersionHashes(first).entities, storeModel: first, versions: versions)
    #expect(found.nearestVersions == ["1", "2", "3"])
    #expect(found.nearest == "1")
    #expect(found.nearestSentence == "The nearest are 1, 2 and 3.")
    let other = ModelDocument(entities: [EntityDocument(name: "Planet")])
    let none = StoreMatch(storeHashes: VersionHashes(other).entities, storeModel: other, versions: versions)
    #expect(none.nearest == nil && none.nearestVersions.isEmpty && none.differences.isEmpty)
    #expect(none.nearestSentence == "None is near: no version has an entity in common with it.")
  }

  @Test("A store that carries no model differs by entities only")
  func unknown() {
    let found = match(second, known: false)
    #expect(found.differences.map(\.change) == ["version hash"])
    #expect(found.differences.map(\.property) == [nil])
  }

  @Test("A store of one configuration matches the version that has it")
  func configuration() {
    var model = first
    model.configurations = [ConfigurationDocument(name: "Local", entityNames: ["Line"])]
    let hashes = VersionHashes(model).entities.filter { $0.key == "Line" }
    let found = StoreMatch(storeHashes: hashes, storeModel: nil, versions: [("1", model)])
    #expect(found.version == "1")
    #expect(found.configuration == "Local")
  }
}
