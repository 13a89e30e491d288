// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Allowances of findings")
struct FindingAllowanceTests {
  private static let counts = StoreCounts(
    rows: ["Order": 3, "Line": 2], values: ["Order": ["name": 2, "total": 3, "lines": 2], "Line": ["order": 2]])

  private func findings(_ allowances: FindingAllowances, _ edit: (inout EntityDocument) -> Void) -> [Finding] {
    MigrationFindings(from: orderModel(), to: orderModel(edit), counts: Self.counts, allowances: allowances).findings
  }

  @Test("Allow a code, an entity or a property, and nothing else")
  func covers() {
    func levels(_ allowances: FindingAllowances) -> [Finding.Level] {
      findings(allowances) { $0.attributes.removeAll() }.map(\.level)
    }
    #expect(levels([]) == [.error, .error])
    #expect(levels([FindingAllowance(.attributeRemoved)]) == [.information, .information])
    #expect(levels([FindingAllowance(.attributeRemoved, entity: "Order")]) == [.information, .information])
    #expect(levels([FindingAllowance(.attributeRemoved, entity: "Order", property: "name")]) == [.error, .information])
    #expect(levels([FindingAllowance(.attributeRemoved, entity: "Line")]) == [.error, .error])
    #expect(levels([FindingAllowance(.entityRemoved)]) == [.error, .error])
    #expect(levels(.losses) == [.information, .information])
  }

  @Test("Name an entity by its name before the step, too")
  func renamed() {
    let new = orderModel {
      $0.name = "Purchase"
      $0.renamingIdentifier = "Order"
      $0.attributes.removeFirst()
    }
    var document = new
    document.entities[1].relationships[0].destinationEntityName = "Purchase"
    let found = MigrationFindings(from: orderModel(), to: document, counts: Self.counts).findings
      .filter { $0.code == .attributeRemoved }
    #expect(found.map(\.place) == ["Purchase.name"])
    for entity in ["Purchase", "Order"] {
      let allowance = FindingAllowance(.attributeRemoved, entity: entity, property: "name")
      #expect(found.allSatisfy(allowance.covers), "\(entity)")
    }
  }

  @Test("Do not allow what would make the migration fail")
  func failure() {
    let found = findings([FindingAllowance(.newRequiredAttribute)]) {
      $0.attributes.append(AttributeDocument(name: "vat", kind: .decimal, isOptional: false))
    }
    #expect(found.map(\.level) == [.error])
    #expect(found.map(\.isFailure) == [true])
  }

  @Test("Are read from a file with their reasons and lines")
  func file() throws {
    let directory = try TemporaryDirectory()
    let url = try directory.write(
      "# Comment\r\n\r\n  DS102:Order.name\tmoved away \r\nDS101  all of it\n", to: "allow.txt")
    let items = try FindingAllowances(contentsOf: url).items
    #expect(items.map(\.text) == ["DS102:Order.name", "DS101"])
    #expect(items.map(\.reason) == ["moved away", "all of it"])
    #expect(items.map(\.origin) == [.file(path: url.path, line: 3), .file(path: url.path, line: 4)])
    #expect(items[0].words == "allowed by \(url.lastPathComponent), line 3: moved away")
  }
}
