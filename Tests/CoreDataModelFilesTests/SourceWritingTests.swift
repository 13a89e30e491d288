// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Writing model sources")
struct SourceWritingTests {
  private let url = URL(fileURLWithPath: "/contents")

  private func read(_ text: String) throws -> ModelDocument {
    try XCDataModelReader.document(of: Data(text.utf8), file: url)
  }

  private func attribute(
    _ name: String, _ kind: AttributeKind, _ change: (inout AttributeDocument) -> Void
  ) -> AttributeDocument {
    var attribute = AttributeDocument(name: name, kind: kind)
    change(&attribute)
    return attribute
  }

  private func rule(
    _ left: ExpressionSyntax, _ op: ComparisonSyntax.Operator, _ right: PlainValue, _ code: Int64
  ) -> ValidationDocument {
    ValidationDocument(
      predicate: .comparison(ComparisonSyntax(left, op, .constant(right))), warning: .integer(code))
  }

  /// A model with all that a source can say.
  private func fullModel() throws -> ModelDocument {
    var place = EntityDocument(name: "Place", isAbstract: true, className: ".Place")
    place.renamingIdentifier = "Spot"
    place.versionHashModifier = "2"
    place.userInfo = ["quote": .string("a \"b\" <c> & 'd'\n\te"), "empty": .string("")]
    let date = Date(timeIntervalSinceReferenceDate: 0.25)
    let point = [AttributeDocument(name: "x", kind: .double), AttributeDocument(name: "y", kind: .double)]
    place.attributes = [
      attribute("active", .boolean) { $0.defaultValue = .boolean(false) },
      attribute("code", .integer16) {
        $0.defaultValue = .integer(-3)
        $0.isIndexed = true
        $0.validations = [rule(.evaluatedObject, .greaterThanOrEqualTo, .integer(-5), 1620)]
      },
      attribute("count", .integer64) { $0.derivation = .keyPath("visits.@count") },
      attribute("created", .date) {
        $0.defaultValue = .date(date)
        $0.validations = [rule(.evaluatedObject, .lessThanOrEqualTo, .date(date), 1630)]
      },
      attribute("data", .binaryData) {
        $0.defaultValue = .data(Data([1, 2]))
        $0.allowsExternalBinaryDataStorage = true
      },
      attribute("id", .uuid) { $0.defaultValue = .uuid(UUID()) },
      attribute("link", .uri) { $0.defaultValue = .url(URL(string: "https://example.org/?a=1&b=2")!) },
      attribute("name", .string) {
        $0.isOptional = false
        $0.defaultValue = .string("")
        $0.renamingIdentifier = "title"
        $0.isIndexedBySpotlight = true
        $0.validations = [
          rule(.keyPath("length"), .greaterThanOrEqualTo, .integer(1), 1670),
          rule(.keyPath("length"), .lessThanOrEqualTo, .integer(9), 1660),
          rule(.evaluatedObject, .matches, .string("[a-z]+\\.\"<"), 1680),
        ]
      },
      attribute("point", .composite) {
        $0.compositeName = "Point"
        $0.elements = point
      },
      attribute("price", .decimal) { $0.defaultValue = .decimal(12) },
      attribute("ratio", .double) {
        $0.defaultValue = .real(2.5e-9)
        $0.usesScalarValueType = true
        $0.validations = [rule(.evaluatedObject, .lessThanOrEqualTo, .real(5), 1610)]
      },
      attribute("tint", .transformable) {
        $0.valueTransformerName = "Tinter"
        $0.valueClassName = "Colour"
        $0.isTransient = true
        $0.preservesValueInHistoryOnDeletion = true
      },
    ]
    place.relationships = [
      RelationshipDocument(name: "visits", destinationEntityName: "Visit", inverseName: "place", isToMany: true)
    ]
    place.relationships[0].minCount = 2
    place.relationships[0].maxCount = 7
    place.relationships[0].isOrdered = true
    place.relationships[0].deleteRule = .deny
    place.relationships[0].isIndexedBySpotlight = true
    place.indexes = [
      FetchIndexDocument(
        name: "byName",
        elements: [
          FetchIndexElementDocument(propertyName: "name", isAscending: false),
          FetchIndexElementDocument(
            propertyName: "", expression: .function(operand: nil, name: "lowercase:", arguments: [.keyPath("name")])),
        ], partialIndexPredicate: try PredicateParser.parse("name BEGINSWITH[cd] \"x\""))
    ]
    place.compoundIndexes = [["code", "name"]]
    place.uniquenessConstraints = [["id"], ["code", "name"]]
    var visit = EntityDocument(name: "Visit")
    visit.relationships = [RelationshipDocument(name: "place", destinationEntityName: "Place", inverseName: "visits")]
    let predicate = try PredicateParser.parse("place.name == $NAME AND place.code > 3")
    let own = FetchRequestDocument(name: "own", entityName: "Place", predicate: predicate)
    visit.fetchedProperties = [FetchedPropertyDocument(name: "others", request: own)]
    var request = FetchRequestDocument(name: "Recent", entityName: "Visit", predicate: predicate)
    request.fetchLimit = 5
    request.fetchBatchSize = 20
    request.resultType = 1
    request.includesSubentities = false
    request.includesPropertyValues = false
    request.returnsObjectsAsFaults = false
    request.returnsDistinctResults = true
    request.includesPendingChanges = false
    return ModelDocument(
      entities: [place, visit],
      configurations: [ConfigurationDocument(name: "Cloud", entityNames: ["Place"])],
      fetchRequestTemplates: [request], versionIdentifiers: ["1.0 <beta>"])
  }

  @Test("Values that the model editor has no text for are the same after they were read again")
  func values() throws {
    let values: [PlainValue] = [
      .null, .boolean(true), .integer(-1), .real(1), .real(.infinity), .decimal(Decimal(string: "0.1") ?? 0),
      .string("$real"), .date(Date(timeIntervalSinceReferenceDate: 0.25)), .data(Data([1])), .uuid(UUID()),
      .array([.integer(1), .array([])]), .set([.string("a")]),
      .dictionary(["$set": .array([.null]), "a": .boolean(false)]),
    ]
    var entity = EntityDocument(name: "Place")
    for (number, value) in values.enumerated() {
      entity.userInfo["\(number)"] = value
      entity.attributes.append(
        attribute("transformed\(number)", .transformable) {
          $0.defaultValue = value
          $0.userInfo = ["EnumType": value]
        })
    }
    entity.attributes.append(attribute("empty", .binaryData) { $0.defaultValue = .data(Data()) })
    entity.attributes.append(
      attribute("parts", .composite) {
        $0.compositeName = "Parts"
        $0.elements = [AttributeDocument(name: "x", kind: .double)]
        $0.defaultValue = .dictionary(["x": .real(0.5)])
      })
    var document = ModelDocument(versionIdentifiers: [""])
    document.entities = [entity]
    let text = try XCDataModelWriter.text(of: document)
    #expect(try read(text) == document)
    // The model editor shows and changes the text of user info, and keeps the rest of the entry.
    let edited = text.replacingOccurrences(of: "value=\"true\" valueJSON", with: "value=\"no\" valueJSON")
    #expect(try read(edited).entities.first?.userInfo["1"] == .string("no"))
  }

  @Test("A model with all that a source can say comes back equal")
  func roundTrip() throws {
    let model = try fullModel()
    try model.validate()
    for style in [
      SourceStyle.current, SourceStyle(syncable: .entitiesAndProperties, marksObjectValues: false),
      SourceStyle(syncable: .nothing, marksObjectValues: true),
    ] {
      let back = try read(XCDataModelWriter.text(of: model, style: style))
      for (left, right) in zip(back.entities, model.entities) { #expect(left == right) }
      #expect(back == model)
    }
  }

  @Test("The text is laid out as Xcode does")
  func layout() throws {
    var person = EntityDocument(name: "Person", className: "Person")
    person.attributes = [
      attribute("age", .integer16) {
        $0.defaultValue = .integer(0)
        $0.usesScalarValueType = true
      },
      attribute("born", .date) { $0.isOptional = false },
    ]
    person.relationships = [RelationshipDocument(name: "friend", destinationEntityName: "Person")]
    person.uniquenessConstraints = [["age"]]
    let lines = try XCDataModelWriter.text(of: ModelDocument(entities: [person], versionIdentifiers: [""]))
      .split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.first == "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>")
    #expect(
      lines.dropFirst(2)
        == """
            <entity name="Person" representedClassName="Person" syncable="YES">
                <attribute name="age" optional="YES" attributeType="Integer 16" defaultValueString="0" usesScalarValueType="YES"/>
                <attribute name="born" attributeType="Date" usesScalarValueType="NO"/>
                <relationship name="friend" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person"/>
                <uniquenessConstraints>
                    <uniquenessConstraint>
                        <constraint value="age"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
        </model>
        """.split(separator: "\n")[...])
  }

  @Test("What a source cannot say is refused by name")
  func refusals() throws {
    let changes: [(inout ModelDocument) -> Void] = [
      { $0.entities[0].userInfo["object"] = .object(OpaqueObject("of a class")) },
      { $0.entities[0].attributes[0].defaultValue = .date(Date()) },
      { $0.entities[0].attributes[0].validations = [ValidationDocument(predicate: .constant(true), warning: .null)] },
      { $0.entities[0].relationships[0].validations = $0.entities[0].attributes[1].validations },
      { $0.fetchRequestTemplates[0].sortKeys = [SortKeyDocument(keyPath: "place", ascending: true)] },
    ]
    for change in changes {
      var model = try fullModel()
      change(&model)
      let error = #expect(throws: ModelFileError.self) { try XCDataModelWriter.text(of: model) }
      #expect(error?.entity != nil)
    }
  }

  @Test("Composite types without a name get one, and equal ones share it")
  func composites() throws {
    let elements = [AttributeDocument(name: "x", kind: .double)]
    var entity = EntityDocument(name: "E")
    for (name, elements) in [
      ("start", elements), ("end", elements), ("Start", [AttributeDocument(name: "y", kind: .float)]),
    ] {
      entity.attributes.append(attribute(name, .composite) { $0.elements = elements })
    }
    let back = try read(XCDataModelWriter.text(of: ModelDocument(entities: [entity])))
    #expect(back.entities[0].attributes.map(\.compositeName) == ["Start", "Start", "Start2"])
    #expect(back.entities[0].attributes.map(\.elements) == entity.attributes.map(\.elements))
  }

  @Test("A bundle of sources is read as it was written, with its current version")
  func bundle() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let url = folder.appendingPathComponent("Model.xcdatamodeld")
    let model = try fullModel()
    try ModelBundle.writeSource([("A & B", model), ("C", model)], current: "A & B", to: url)
    let bundle = try ModelBundle(contentsOf: url)
    // Of versions with equal hashes the current one is the last.
    #expect(bundle.versions.map(\.name) == ["C", "A & B"])
    #expect(bundle.versions.map(\.document) == [model, model])
    #expect(bundle.currentVersionName == "A & B")
    let package = folder.appendingPathComponent("Solo.xcdatamodel")
    try ModelBundle.writeSource(model, to: package)
    #expect(try ModelBundle(contentsOf: package).currentDocument() == model)
  }
}
