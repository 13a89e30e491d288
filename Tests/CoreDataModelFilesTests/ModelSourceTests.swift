// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Model sources")
struct ModelSourceTests {
  @Test("Every flag and name of an entity is read")
  func entity() throws {
    let document = try model(
      """
      <entity name="Book" representedClassName=".Book" isAbstract="YES" elementID="Volume" versionHashModifier="2">
        <attribute name="title" optional="YES" attributeType="String"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="title"/><constraint value="b"/>
        </uniquenessConstraint></uniquenessConstraints>
        <compoundIndexes><compoundIndex><index value="title"/><index value="b"/></compoundIndex></compoundIndexes>
        <fetchIndex name="byTitle"><fetchIndexElement property="title" type="RTree" order="descending"/></fetchIndex>
        <userInfo><entry key="a" value="1"/><entry key="empty" value=""/></userInfo>
      </entity>
      <entity name="Novel" parentEntity="Book"/>
      """)
    let book = document.entities[0]
    #expect(book.className == ".Book")
    #expect(book.isAbstract)
    #expect(book.renamingIdentifier == "Volume")
    #expect(book.versionHashModifier == "2")
    #expect(book.uniquenessConstraints == [["title", "b"]])
    #expect(book.compoundIndexes == [["title", "b"]])
    #expect(book.userInfo == ["a": .string("1"), "empty": .string("")])
    let element = FetchIndexElementDocument(propertyName: "title", isRTree: true, isAscending: false)
    #expect(book.indexes == [FetchIndexDocument(name: "byTitle", elements: [element])])
    #expect(document.entities[1].parentName == "Book")
    #expect(document.versionIdentifiers == ["7"])
  }

  @Test("Default values have the type of their attribute")
  func defaults() throws {
    let attributes = try model(
      """
      <entity name="E">
        <attribute name="i" attributeType="Integer 16" defaultValueString="0.0"/>
        <attribute name="big" attributeType="Integer 64" defaultValueString="-9223372036854775808"/>
        <attribute name="d" attributeType="Double" defaultValueString="1.5"/>
        <attribute name="n" attributeType="Decimal" defaultValueString="10.11"/>
        <attribute name="s" attributeType="String" defaultValueString=""/>
        <attribute name="b" attributeType="Boolean" defaultValueString="YES"/>
        <attribute name="t" attributeType="Date" defaultDateTimeInterval="86400"/>
        <attribute name="u" attributeType="UUID" defaultValueString="00000000-0000-0000-0000-000000000001"/>
        <attribute name="l" attributeType="URI" defaultValueString="https://example.org/"/>
        <attribute name="none" attributeType="Integer 32"/>
      </entity>
      """
    ).entities[0].attributes
    let values = Dictionary(uniqueKeysWithValues: attributes.map { ($0.name, $0.defaultValue) })
    #expect(values["i"] == .integer(0))
    #expect(values["big"] == .integer(.min))
    #expect(values["d"] == .real(1.5))
    #expect(values["n"] == .decimal(Decimal(string: "10.11")!))
    #expect(values["s"] == .string(""))
    #expect(values["b"] == .boolean(true))
    #expect(values["t"] == .date(Date(timeIntervalSinceReferenceDate: 86400)))
    #expect(values["u"] == .uuid(UUID(uuidString: "00000000-0000-0000-0000-000000000001")!))
    #expect(values["l"] == .url(URL(string: "https://example.org/")!))
    #expect(values["none"] == .some(nil))
  }

  @Test("Limits become validation rules with the codes that Core Data reports")
  func validations() throws {
    let attributes = try model(
      """
      <entity name="E">
        <attribute name="n" attributeType="Integer 16" minValueString="0" maxValueString="5"/>
        <attribute name="s" attributeType="String" minValueString="1" maxValueString="9"
          regularExpressionString="[a-z]+"/>
        <attribute name="t" attributeType="Date" minDateTimeInterval="0" maxDateTimeInterval="10"/>
      </entity>
      """
    ).entities[0].attributes
    func rule(
      _ left: ExpressionSyntax, _ op: ComparisonSyntax.Operator, _ right: PlainValue, _ code: Int64
    ) -> ValidationDocument {
      ValidationDocument(
        predicate: .comparison(ComparisonSyntax(left, op, .constant(right))), warning: .integer(code))
    }
    #expect(
      attributes[0].validations == [
        rule(.evaluatedObject, .greaterThanOrEqualTo, .integer(0), 1620),
        rule(.evaluatedObject, .lessThanOrEqualTo, .integer(5), 1610),
      ])
    #expect(
      attributes[1].validations == [
        rule(.keyPath("length"), .greaterThanOrEqualTo, .integer(1), 1670),
        rule(.keyPath("length"), .lessThanOrEqualTo, .integer(9), 1660),
        rule(.evaluatedObject, .matches, .string("[a-z]+"), 1680),
      ])
    #expect(
      attributes[2].validations == [
        rule(.evaluatedObject, .greaterThanOrEqualTo, .date(Date(timeIntervalSinceReferenceDate: 0)), 1640),
        rule(.evaluatedObject, .lessThanOrEqualTo, .date(Date(timeIntervalSinceReferenceDate: 10)), 1630),
      ])
  }

  @Test("Flags of attributes are read")
  func attributeFlags() throws {
    let attribute = try model(
      """
      <entity name="E"><attribute name="a" optional="YES" transient="YES" attributeType="Transformable"
        customClassName="Color" valueTransformerName="ColorTransformer" allowsExternalBinaryDataStorage="YES"
        preserveAfterDeletion="YES" allowsCloudEncryption="YES" indexed="YES" spotlightIndexingEnabled="YES"
        usesScalarValueType="YES" elementID="old" versionHashModifier="3"/></entity>
      """
    ).entities[0].attributes[0]
    var expected = AttributeDocument(name: "a", kind: .transformable)
    expected.isTransient = true
    expected.valueClassName = "Color"
    expected.valueTransformerName = "ColorTransformer"
    expected.allowsExternalBinaryDataStorage = true
    expected.preservesValueInHistoryOnDeletion = true
    expected.allowsCloudEncryption = true
    expected.isIndexed = true
    expected.isIndexedBySpotlight = true
    expected.usesScalarValueType = true
    expected.renamingIdentifier = "old"
    expected.versionHashModifier = "3"
    #expect(attribute == expected)
  }

  @Test("Relationships count as Core Data counts: one unless to-many, without limit unless given")
  func relationships() throws {
    let relationships = try model(
      """
      <entity name="E">
        <relationship name="one" maxCount="1" deletionRule="Cascade" destinationEntity="E" inverseName="many"/>
        <relationship name="bare" optional="YES" destinationEntity="E"/>
        <relationship name="many" toMany="YES" ordered="YES" deletionRule="No Action" destinationEntity="E"/>
        <relationship name="some" toMany="YES" minCount="2" maxCount="4" deletionRule="Deny" destinationEntity="E"/>
      </entity>
      """
    ).entities[0].relationships
    #expect(relationships.map(\.maxCount) == [1, 1, 0, 4])
    #expect(relationships.map(\.minCount) == [0, 0, 0, 2])
    #expect(relationships.map(\.isToMany) == [false, false, true, true])
    #expect(relationships.map(\.isOrdered) == [false, false, true, false])
    #expect(relationships.map(\.deleteRule) == [.cascade, .nullify, .noAction, .deny])
    #expect(relationships.map(\.isOptional) == [false, true, false, false])
    #expect(relationships[0].inverseName == "many")
  }

  @Test("Predicates of requests and indexes are parsed")
  func predicates() throws {
    let document = try model(
      """
      <entity name="E"><attribute name="n" optional="YES" attributeType="Integer 64"/>
        <fetchIndex name="some" predicate="n &gt; 1"><fetchIndexElement property="n" type="Binary"/></fetchIndex>
      </entity>
      <fetchRequest name="Named" entity="E" predicateString="name BEGINSWITH[c] $PREFIX"/>
      """)
    #expect(
      document.entities[0].indexes[0].partialIndexPredicate
        == .comparison(ComparisonSyntax(.keyPath("n"), .greaterThan, .constant(.integer(1)))))
    #expect(
      document.fetchRequestTemplates[0].predicate
        == .comparison(
          ComparisonSyntax(.keyPath("name"), .beginsWith, .variable("PREFIX"), options: .caseInsensitive)))
  }

  @Test("Composite types are expanded, nested ones too")
  func composites() throws {
    let attribute = try model(
      """
      <entity name="E"><attribute name="place" attributeType="Composite" composite="Place"/></entity>
      <composite name="Place"><attribute name="name" attributeType="String"/>
        <attribute name="at" attributeType="Composite" composite="Point"/></composite>
      <composite name="Point"><attribute name="x" attributeType="Double" defaultValueString="0.0"/></composite>
      """
    ).entities[0].attributes[0]
    #expect(attribute.compositeName == "Place")
    #expect(attribute.elements.map(\.name) == ["name", "at"])
    #expect(attribute.elements[1].elements.map(\.defaultValue) == [.real(0)])
  }

  @Test("Derived attributes, fetched properties, requests and configurations are read")
  func theRest() throws {
    let document = try model(
      """
      <entity name="E">
        <attribute name="n" optional="YES" attributeType="Integer 64" derived="YES"
          derivationExpression="messages.@count"/>
        <attribute name="c" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(n)"/>
        <fetchedProperty name="f" optional="YES"><fetchRequest name="fetched" entity="E" fetchLimit="3"/>
        </fetchedProperty>
      </entity>
      <fetchRequest name="All" entity="E" fetchBatchSize="20" resultType="2" includeSubentities="NO"/>
      <configuration name="Cloud"><memberEntity name="E"/></configuration>
      """)
    #expect(document.entities[0].attributes[0].derivation == .keyPath("messages.@count"))
    #expect(
      document.entities[0].attributes[1].derivation
        == .function(operand: nil, name: "canonical:", arguments: [.keyPath("n")]))
    #expect(document.entities[0].fetchedProperties[0].request?.fetchLimit == 3)
    #expect(document.configurations == [ConfigurationDocument(name: "Cloud", entityNames: ["E"])])
    let request = document.fetchRequestTemplates[0]
    #expect(request.name == "All" && request.entityName == "E" && request.fetchBatchSize == 20)
    #expect(request.resultType == 2 && !request.includesSubentities && request.includesPropertyValues)
  }
}

/// A document of a source with these elements.
func model(_ elements: String) throws -> ModelDocument {
  let text = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="7">
    \(elements)
    </model>
    """
  return try XCDataModelReader.document(
    of: Data(text.utf8), file: URL(fileURLWithPath: "/Model.xcdatamodel/contents"))
}
