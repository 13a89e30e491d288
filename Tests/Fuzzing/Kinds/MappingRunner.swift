// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Runs mapping models.
struct MappingRunner: FuzzRunner {
  private let lab: FuzzLab
  private let documents: [ModelDocument]
  private let kept: [FuzzInput]
  private var compiled: [Data] = []
  private let sources: [Data]
  private let foreignCompiled: [Data]
  private let foreignSources: [Data]

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    documents = try FuzzModels.documents()
    kept = try lab.kept(.mapping)
    for document in [try Self.rich(documents[0])] {
      let url = try lab.fresh().appendingPathComponent("M.cdm")
      try document.writeCompiled(to: url)
      compiled.append(try Data(contentsOf: url))
    }
    sources = kept.compactMap { $0.files["M.xcmappingmodel/xcmapping.xml"] }
    compiled += kept.compactMap { $0.files["M.cdm"] }
    foreignCompiled = try lab.fixtures { $0.hasSuffix(".cdm") }.map(\.data)
    foreignSources = try lab.fixtures { $0.hasSuffix("xcmapping.xml") }.map(\.data)
  }

  /// Returns a mapping model that uses every feature.
  static func rich(_ document: ModelDocument) throws -> MappingDocument {
    let texts = [
      "$source.price", "($source.a - 32) / 1.8", "TERNARY($source.a > 1 AND ANY $source.b.c IN {1, 2}, 1, 2)",
      "SUBQUERY($source.wheels, $w, $w.size > 3).@count", "$source.a UNION $source.b", "ANYKEY",
      "FUNCTION($source.name, 'uppercase')", "CAST(0, 'NSDate')", "$source.list[FIRST]",
    ]
    var mapping = EntityMappingDocument(
      name: "EmployeeToEmployee", kind: .custom, sourceEntityName: "Employee", destinationEntityName: "Employee")
    mapping.sourceEntityVersionHash = VersionHashes(document).entities["Employee"]
    mapping.destinationEntityVersionHash = mapping.sourceEntityVersionHash
    mapping.policyClassName = "Policy"
    mapping.sourceExpression = MappingExpressions.sourceObjects(entity: "Employee", filter: "age > 4 OR name == 'x'")
    mapping.userInfo = ["list": .array([.integer(1), .dictionary(["a": .set([.real(0.5)])])])]
    mapping.attributeMappings = try texts.enumerated().map {
      PropertyMappingDocument(
        name: "p\($0.offset)", valueExpression: try PredicateParser.parseExpression($0.element))
    }
    mapping.relationshipMappings = [
      PropertyMappingDocument(
        name: "department", valueExpression: MappingExpressions.destinationObjects(relationship: "department"))
    ]
    let added = EntityMappingDocument(name: "Add", kind: .add, sourceEntityName: nil, destinationEntityName: "Task")
    return MappingDocument(entityMappings: [mapping, added])
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let isForeign = !foreignSources.isEmpty && random.oneIn(3)
    if random.oneIn(2), !(isForeign ? foreignSources : sources).isEmpty {
      let list = isForeign ? foreignSources : sources
      let data = TextMutation.damage(random.pick(list), with: random.pick(list), &random)
      return FuzzInput(files: ["M.xcmappingmodel/xcmapping.xml": data], isOurs: !isForeign)
    }
    let list = isForeign && !foreignCompiled.isEmpty ? foreignCompiled : compiled
    var data = PropertyListMutation.damage(random.pick(list), with: random.pick(list), &random)
    if random.oneIn(300) { data = PropertyListMutation.hostile(&random) }
    return FuzzInput(files: ["M.cdm": data], isOurs: !isForeign)
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let folder = try lab.fresh()
    try input.write(to: folder)
    let isCompiled = input.files["M.cdm"] != nil
    let url = folder.appendingPathComponent(isCompiled ? "M.cdm" : "M.xcmappingmodel")
    let (source, destination) = (random.pick(documents), random.pick(documents))
    let document = try MappingDocument(
      contentsOf: url, source: random.oneIn(2) ? source : nil, destination: random.oneIn(2) ? destination : nil)
    _ = MappingDescription(document)
    _ = MappingCheck(document, source: source, destination: destination, isCompiled: isCompiled)
    _ = try NSMappingModel.load(contentsOf: url)
    let properties = document.entityMappings.reduce(0) {
      $0 + $1.attributeMappings.count + $1.relationshipMappings.count
    }
    return "mapping \(isCompiled) \(document.entityMappings.count) \(min(properties, 20))"
  }
}
