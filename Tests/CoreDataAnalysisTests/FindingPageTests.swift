// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Codes of findings and their pages")
struct FindingPageTests {
  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Sources")

  @Test("Every code in the sources has a page, and codes are made in one place")
  func sources() throws {
    let files = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
    var made: [String: [String]] = [:]
    for case let url as URL in files where url.pathExtension == "swift" {
      let text = try String(contentsOf: url, encoding: .utf8)
      for match in text.matches(of: /\b(DS|DD|CM|VR|MD|ST)[0-9]{3}\b/) {
        #expect(FindingCode(rawValue: String(match.0)) != nil, "\(url.lastPathComponent) names \(match.0)")
      }
      for match in text.matches(of: /= "((?:DS|DD|CM|VR|MD|ST)[0-9]{3})"/) {
        made[String(match.1), default: []].append(url.lastPathComponent)
      }
    }
    #expect(Set(made.keys) == Set(FindingCode.allCases.map(\.rawValue)))
    #expect(made.values.allSatisfy { $0 == ["FindingCode.swift"] })
  }

  @Test(
    "Every code about a step is emitted by some pair of versions, so that no page is for a code that cannot be",
    arguments: FindingCode.allCases.filter {
      !["VR", "MD", "ST"].contains($0.rawValue.prefix(2)) && $0 != .otherTableDropped
    })
  func emitted(code: FindingCode) {
    let (old, new) = Self.versions(code)
    #expect(MigrationFindings(from: old, to: new).findings.map(\.code).contains(code))
  }

  @Test("A page says everything in sentences, and names no other code", arguments: FindingCode.allCases)
  func page(code: FindingCode) {
    let page = code.page
    for text in [page.what, page.why, page.example, page.cure] {
      #expect(text.first?.isUppercase == true && text.hasSuffix("."), "\(text)")
      for match in text.matches(of: /\b(DS|DD|CM|VR|MD|ST)[0-9]{3}\b/) { #expect(String(match.0) == code.rawValue) }
    }
    #expect(!page.title.isEmpty && page.title.count < 70)
    #expect(Set(FindingCode.allCases.map(\.page.title)).count == FindingCode.allCases.count)
    #expect(page.cure.contains("--allow \(code.rawValue):") == (code.isLoss && code != .toManyBecomesToOne))
  }

  @Test("Texts that are no code have the nearest codes")
  func nearest() {
    #expect(FindingCode(text: "ds102") == .attributeRemoved)
    #expect(FindingCode(text: "DS1022") == nil)
    #expect(FindingCode.nearest(to: "DS112").map(\.rawValue) == ["DS102"])
    #expect(FindingCode.nearest(to: "DD209").map(\.rawValue) == ["DD201", "DD202", "DD203"])
    #expect(FindingCode.nearest(to: "").isEmpty && FindingCode.nearest(to: "loss").isEmpty)
  }

  /// Two versions between which a finding of the code is.
  private static func versions(_ code: FindingCode) -> (ModelDocument, ModelDocument) {
    func change(_ edit: (inout EntityDocument) -> Void) -> (ModelDocument, ModelDocument) {
      (orderModel(), orderModel(edit))
    }
    switch code {
    case .entityRemoved: return (orderModel(), ModelDocument(entities: [EntityDocument(name: "Line")]))
    case .attributeRemoved: return change { $0.attributes.removeFirst() }
    case .relationshipRemoved:
      return (orderModel(), ModelDocument(entities: ["Order", "Line"].map { EntityDocument(name: $0) }))
    case .toManyBecomesToOne: return change { $0.relationships[0].maxCount = 1 }
    case .numberNarrowed: return change { $0.attributes[1].kind = .integer16 }
    case .storedBecomesTransient: return change { $0.attributes[0].isTransient = true }
    case .orderLost: return (orderModel { $0.relationships[0].isOrdered = true }, orderModel())
    case .externalDataDropped:
      var data = AttributeDocument(name: "data", kind: .binaryData)
      data.allowsExternalBinaryDataStorage = true
      return (orderModel { $0.attributes.append(data) }, orderModel())
    case .newRequiredAttribute:
      return change { $0.attributes.append(AttributeDocument(name: "vat", kind: .decimal, isOptional: false)) }
    case .optionalBecomesRequired: return change { $0.attributes[0].isOptional = false }
    case .uniquenessAdded: return change { $0.uniquenessConstraints = [["name"]] }
    case .validationTightened:
      return change {
        $0.attributes[1].validations = [
          ValidationDocument(
            predicate: .comparison(ComparisonSyntax(.evaluatedObject, .lessThanOrEqualTo, .constant(.integer(9)))),
            warning: .integer(1610))
        ]
      }
    case .minimumCountRaised: return change { $0.relationships[0].minCount = 1 }
    case .probableRename: return change { $0.attributes[0].name = "names" }
    case .unclearRename:
      return change {
        var text = AttributeDocument(name: "text", kind: .string)
        text.renamingIdentifier = "none"
        $0.attributes.append(text)
      }
    case .notInferable: return change { $0.attributes[1].kind = .string }
    case .hierarchiesMerged:
      let entities = ["Customer", "Person"].map { EntityDocument(name: $0) }
      return (
        ModelDocument(entities: entities),
        ModelDocument(entities: [EntityDocument(name: "Customer", parentName: "Person"), entities[1]])
      )
    case .destinationChanged:
      func model(_ destination: String) -> ModelDocument {
        var order = EntityDocument(name: "Order")
        order.relationships = [RelationshipDocument(name: "customer", destinationEntityName: destination)]
        return ModelDocument(entities: [order, EntityDocument(name: "Person"), EntityDocument(name: "Company")])
      }
      return (model("Person"), model("Company"))
    // `ModelLintTests` and `StageRulesTests` have those about versions and models, `StoreFindingsTests` those about stores.
    case .shippedVersionEdited, .noPath, .staleMapping, .equalVersions, .currentMovedBack, .stagesOutOfOrder,
      .missingInverse, .reservedName, .insecureTransformer, .requiredPair, .stepNeedsCopy, .littleDiskSpace,
      .unmergedLog, .noModelInStore, .otherTableDropped:
      return change { _ in }
    }
  }
}
