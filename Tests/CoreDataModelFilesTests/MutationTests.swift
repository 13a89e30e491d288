// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Damaged model files")
struct MutationTests {
  private let file = URL(fileURLWithPath: "/damaged")

  /// A mapping model with something of everything.
  static func richMapping() throws -> MappingDocument {
    var mapping = EntityMappingDocument(
      name: "CarToVan", kind: .custom, sourceEntityName: "Car", destinationEntityName: "Van")
    mapping.sourceEntityVersionHash = Data(repeating: 1, count: 32)
    mapping.policyClassName = "Policy"
    mapping.sourceExpression = MappingExpressions.sourceObjects(entity: "Car", filter: "seats > 4")
    mapping.userInfo = ["list": .array([.integer(1), .dictionary(["a": .set([.real(0.5)])])])]
    let texts = [
      "$source.price", "($source.a - 32) / 1.8", "TERNARY($source.a > 1 AND ANY $source.b.c IN {1, 2}, 1, 2)",
      "SUBQUERY($source.wheels, $w, $w.size > 3).@count", "$source.a UNION $source.b", "ANYKEY",
    ]
    mapping.attributeMappings = try texts.enumerated().map {
      PropertyMappingDocument(
        name: "p\($0.offset)", valueExpression: try PredicateParser.parseExpression($0.element))
    }
    mapping.relationshipMappings = [
      PropertyMappingDocument(
        name: "owner", valueExpression: MappingExpressions.destinationObjects(relationship: "owner"))
    ]
    let added = EntityMappingDocument(name: "Maker", kind: .add, sourceEntityName: nil, destinationEntityName: "Maker")
    return MappingDocument(entityMappings: [mapping, added])
  }

  /// Reads damaged inputs; each is read or refused with an error of ours, in time that depends on its size only.
  private func read(
    _ original: Data, count: Int, seed: UInt64, mutate: (Data, inout SeededNumbers) throws -> Data,
    _ read: (Data) throws -> Void
  ) throws {
    try read(original)
    var numbers = SeededNumbers(seed: seed)
    var refused = 0
    let clock = ContinuousClock()
    for _ in 0..<count {
      let input = try mutate(original, &numbers)
      let time = try clock.measure {
        do {
          try read(input)
        } catch is ModelFileError {
          refused += 1
        } catch is ArchiveFailure {
          refused += 1
        }
      }
      #expect(time < .seconds(10))
    }
    #expect(refused > 0)
  }

  @Test("Damaged compiled models are read or refused")
  func compiledModels() throws {
    let count = Mutation.count(default: 250)
    for form in [CompiledModelWriter.Form.file, .cache] {
      let archive = try CompiledModelWriter.archive(of: ModelCacheTests.richModel(), form: form)
      let open = { (data: Data) in
        let document = try CompiledModelReader.document(of: data)
        try document.validate()
        _ = VersionHashes(document).checksum
      }
      try read(archive, count: count, seed: 1, mutate: Mutation.bytes, open)
      try read(archive, count: count, seed: 2, mutate: Mutation.archive, open)
    }
  }

  @Test("Damaged compiled mapping models are read or refused")
  func compiledMappings() throws {
    let archive = try CompiledMapping.archive(of: Self.richMapping())
    let count = Mutation.count(default: 250)
    let open = { (data: Data) in _ = try MappingDocument.document(of: data, file: file) }
    #expect(try CompiledMapping.document(of: archive) == Self.richMapping())
    try read(archive, count: count, seed: 3, mutate: Mutation.bytes, open)
    try read(archive, count: count, seed: 4, mutate: Mutation.archive, open)
  }

  @Test("Damaged model sources are read or refused")
  func sources() throws {
    var model = ModelCacheTests.richModel()
    model.fetchRequestTemplates = []
    for position in model.entities.indices {
      model.entities[position].userInfo = [:]
      for attribute in model.entities[position].attributes.indices {
        model.entities[position].attributes[attribute].userInfo = [:]
        model.entities[position].attributes[attribute].validations = []
        if model.entities[position].attributes[attribute].kind == .transformable {
          model.entities[position].attributes[attribute].defaultValue = nil
        }
      }
    }
    let text = try XCDataModelWriter.text(of: model)
    try read(Data(text.utf8), count: Mutation.count(default: 250), seed: 5, mutate: Mutation.bytes) { data in
      try XCDataModelReader.document(of: data, file: file).validate()
    }
  }

  @Test("An archive of few objects that describes an endless tree is refused in time")
  func sharedObjects() throws {
    var builder = KeyedArchiveBuilder()
    var expression = try builder.expression(.evaluatedObject)
    for _ in 0..<60 {
      expression = builder.add(
        "NSAggregateExpression", ["NSCollection": builder.collection([expression, expression, expression])])
    }
    let archive = try KeyedArchive(builder.data(root: expression))
    let error = #expect(throws: ArchiveFailure.self) { try ArchivedExpressions.expression(archive.root()) }
    #expect(error?.found.contains("too many times") == true)
  }

  @Test("Expressions that hold themselves are refused")
  func rings() throws {
    var builder = KeyedArchiveBuilder()
    let place = builder.reserve()
    builder.fill(place, "NSAggregateExpression", ["NSCollection": builder.collection([place])])
    let archive = try KeyedArchive(builder.data(root: place))
    #expect(throws: ArchiveFailure.self) { try ArchivedExpressions.expression(archive.root()) }
  }

  @Test("Sources with formats of great depth, and endless lines of inheritance, are refused")
  func depth() throws {
    func source(_ body: String) -> Data { Data("<model>\(body)</model>".utf8) }
    let deep = String(repeating: "(", count: 200_000)
    let request = source("<entity name=\"A\"/><fetchRequest name=\"R\" entity=\"A\" predicateString=\"\(deep)\"/>")
    #expect(throws: ModelFileError.self) {
      try XCDataModelReader.document(of: request, file: file)
    }
    let line = (1...20_000).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 - 1)\"/>" }.joined()
    let error = #expect(throws: ModelFileError.self) {
      try XCDataModelReader.document(of: source("<entity name=\"E0\"/>" + line), file: file)
    }
    #expect(error?.kind == .inheritanceCycle)
    let short = (1...300).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 - 1)\"/>" }.joined()
    let document = try XCDataModelReader.document(
      of: source("<entity name=\"E0\"/>" + short), file: file)
    try document.validate()
    let ring = source("<entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/>")
    let wrong = #expect(throws: ModelFileError.self) {
      try XCDataModelReader.document(of: ring, file: file).validate()
    }
    #expect(wrong?.found.contains("A -> B -> A") == true)
  }
}
