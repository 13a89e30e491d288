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
