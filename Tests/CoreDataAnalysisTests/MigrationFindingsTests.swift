// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Testing

@testable import CoreDataAnalysis

@Suite("Findings of a migration")
struct MigrationFindingsTests {
  private func findings(
    _ counts: StoreCounts? = nil, from old: ModelDocument = orderModel(), _ edit: (inout EntityDocument) -> Void
  ) -> [Finding] {
    MigrationFindings(from: old, to: orderModel(edit), counts: counts).findings
  }

  @Test("A removed attribute is an error with values, and information without")
  func removedAttribute() {
    let with = StoreCounts(rows: ["Order": 3], values: ["Order": ["name": 2, "total": 3]])
    let lost = findings(with) { $0.attributes.removeFirst() }
    #expect(lost.map(\.code) == [.attributeRemoved])
    #expect(lost.map(\.level) == [.error])
    #expect(lost.first?.message == "2 values would be dropped")
    let without = StoreCounts(rows: ["Order": 3], values: ["Order": ["name": 0, "total": 3]])
    #expect(findings(without) { $0.attributes.removeFirst() }.map(\.level) == [.information])
    #expect(findings { $0.attributes.removeFirst() }.map(\.level) == [.error])
  }

  @Test("A removed entity is weighed by its rows")
  func removedEntity() {
    let new = ModelDocument(entities: [EntityDocument(name: "Line")])
    let counts = StoreCounts(rows: ["Order": 1204, "Line": 0], values: ["Line": [:], "Order": [:]])
    let found = MigrationFindings(from: orderModel(), to: new, counts: counts).findings
    #expect(found.first?.code == .entityRemoved)
    #expect(found.first?.message == "1,204 rows would be dropped")
    #expect(found.first?.place == "Order")
  }

  @Test("The links of a removed relationship stay where its inverse stays")
  func survivingLinks() {
    var old = orderModel()
    old.entities[1].relationships[0].inverseName = "lines"
    var new = orderModel()
    new.entities[1].relationships = [
      RelationshipDocument(name: "orders", destinationEntityName: "Order", inverseName: "lines", isToMany: true)
    ]
    new.entities[0].relationships[0].inverseName = "orders"
    let counts = StoreCounts(rows: ["Order": 1, "Line": 4], values: ["Line": ["order": 4], "Order": ["lines": 4]])
    let found = MigrationFindings(from: old, to: new, counts: counts).findings
    #expect(found.map(\.code) == [.relationshipRemoved])
    #expect(found.map(\.level) == [.information])
    #expect(found.first?.message == "is removed; its links stay with Order.lines")
  }

  @Test("New required attributes warn with a default and fail without")
  func required() {
    let counts = StoreCounts(rows: ["Order": 52340])
    let withDefault = findings(counts) {
      var attribute = AttributeDocument(name: "vat", kind: .decimal, isOptional: false)
      attribute.defaultValue = .integer(0)
      $0.attributes.append(attribute)
    }
    #expect(withDefault.map(\.level) == [.warning])
    #expect(withDefault.first?.message == "required, default 0 for 52,340 rows")
    let bare = findings(counts) {
      $0.attributes.append(AttributeDocument(name: "vat", kind: .decimal, isOptional: false))
    }
    #expect(bare.map(\.code) == [.newRequiredAttribute])
    #expect(bare.map(\.level) == [.error])
  }

  @Test("Optional becomes required: rows without a value are counted")
  func optionalToRequired() {
    let counts = StoreCounts(rows: ["Order": 10], values: ["Order": ["name": 8]])
    let found = findings(counts) { $0.attributes[0].isOptional = false }
    #expect(found.map(\.level) == [.error])
    #expect(found.first?.message == "is required now, without a default; 2 rows without a value")
    let complete = StoreCounts(rows: ["Order": 10], values: ["Order": ["name": 10]])
    #expect(findings(complete) { $0.attributes[0].isOptional = false }.map(\.level) == [.information])
  }

  @Test("A to-many relationship is required only with a minimum: without one it may be empty")
  func requiredToMany() {
    let rows = StoreCounts(rows: ["Order": 2, "Line": 2], values: ["Order": ["name": 2, "total": 2, "lines": 2]])
    #expect(findings(rows) { $0.relationships[0].isOptional = false }.isEmpty)
    let minimum = findings(rows) { ($0.relationships[0].isOptional, $0.relationships[0].minCount) = (false, 1) }
    #expect(Set(minimum.map(\.code)) == [.optionalBecomesRequired, .minimumCountRaised])
    let without = orderModel { $0.relationships = [] }
    #expect(findings(rows, from: without) { $0.relationships[0].isOptional = false }.isEmpty)
    let added = findings(rows, from: without) {
      ($0.relationships[0].isOptional, $0.relationships[0].minCount) = (false, 1)
    }
    #expect(added.map(\.code) == [.optionalBecomesRequired])
  }

  @Test("Every other loss has its code")
  func codes() {
    let rows = StoreCounts(rows: ["Order": 2, "Line": 2], values: ["Order": ["name": 2, "total": 2, "lines": 2]])
    #expect(findings(rows) { $0.relationships[0].maxCount = 1 }.map(\.code) == [.toManyBecomesToOne])
    #expect(findings(rows) { $0.attributes[1].kind = .integer16 }.map(\.code) == [.numberNarrowed])
    #expect(findings(rows) { $0.attributes[1].kind = .integer64 }.isEmpty)
    #expect(findings(rows) { $0.attributes[1].kind = .string }.map(\.code) == [.notInferable])
    #expect(findings(rows) { $0.attributes[0].isTransient = true }.map(\.code) == [.storedBecomesTransient])
    #expect(findings(rows) { $0.uniquenessConstraints = [["name"]] }.map(\.code) == [.uniquenessAdded])
    #expect(findings(rows) { $0.relationships[0].minCount = 1 }.map(\.code) == [.minimumCountRaised])
    let ordered = orderModel { $0.relationships[0].isOrdered = true }
    #expect(findings(rows, from: ordered) { _ in }.map(\.code) == [.orderLost])
    let tight = findings(rows) {
      $0.attributes[1].validations = [
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(.evaluatedObject, .lessThanOrEqualTo, .constant(.integer(9)))),
          warning: .integer(1610))
      ]
    }
    #expect(tight.map(\.code) == [.validationTightened])
  }

  @Test("The developer's allowance needs a reason, and makes information of an error")
  func allowance() {
    func found(_ text: String) -> [Finding] {
      findings {
        $0.attributes.removeFirst()
        $0.userInfo = ["coredata.allow": .string(text)]
      }
    }
    let allowed = found("DS102 moved to Archive")
    #expect(allowed.map(\.level) == [.information])
    #expect(allowed.first?.allowance?.reason == "moved to Archive")
    #expect(allowed.first?.allowance?.words == "allowed by coredata.allow: moved to Archive")
    #expect(found("DS102").map(\.level) == [.error])
    #expect(found("DS101 something else").map(\.level) == [.error])
  }
}
