// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataSourceCode

@Suite("Generated classes")
struct GeneratedClassesTests {
  private static func document() -> ModelDocument {
    var item = EntityDocument(name: "Item", className: ".Item")
    item.codeGeneration = .class
    item.attributes = AttributeKind.allCases.flatMap { kind in
      [false, true].map { isScalar in
        var attribute = AttributeDocument(name: "\(kind)\(isScalar ? "Scalar" : "")", kind: kind, isOptional: isScalar)
        attribute.usesScalarValueType = isScalar
        return attribute
      }
    }
    item.relationships = [
      RelationshipDocument(name: "in", destinationEntityName: "Box", isOptional: false),
      RelationshipDocument(name: "parts", destinationEntityName: "Item", isToMany: true),
    ]
    var box = EntityDocument(name: "Box", parentName: "Item", className: "Shop.WSBox")
    box.codeGeneration = .category
    var ordered = RelationshipDocument(name: "items", destinationEntityName: "Item", isToMany: true)
    ordered.isOrdered = true
    box.relationships = [ordered]
    box.attributes = [AttributeDocument(name: "hash", kind: .string), AttributeDocument(name: "a-b", kind: .string)]
    let plain = EntityDocument(name: "Plain", className: "Plain")
    let none = EntityDocument(name: "None")
    return ModelDocument(entities: [item, box, plain, none])
  }

  private func files(_ change: (inout GeneratedClasses.Options) -> Void = { _ in }) -> [String: String] {
    var options = GeneratedClasses.Options()
    change(&options)
    let classes = GeneratedClasses(Self.document(), origin: "Shop.xcdatamodeld", options: options)
    return Dictionary(uniqueKeysWithValues: classes.files.map { ($0.name, $0.text) })
  }

  @Test("An entity gets a class, an extension or nothing, as it says")
  func kinds() {
    #expect(
      files().keys.sorted() == [
        "Item+CoreDataClass.swift", "Item+CoreDataProperties.swift", "WSBox+CoreDataProperties.swift",
      ])
    #expect(files { $0.includesManual = true }.keys.contains("Plain+CoreDataClass.swift"))
    #expect(files()["Item+CoreDataClass.swift"]?.contains("public class Item: NSManagedObject {}") == true)
    #expect(files { $0.access = .internal }["Item+CoreDataClass.swift"]?.contains("\nclass Item:") == true)
  }

  @Test("Properties have the types that Xcode gives them; only strict ones are not optional")
  func types() throws {
    let text = try #require(files()["Item+CoreDataProperties.swift"])
    let expected = [
      "integer16": "NSNumber?", "integer16Scalar": "Int16", "integer32Scalar": "Int32", "integer64Scalar": "Int64",
      "booleanScalar": "Bool", "doubleScalar": "Double", "floatScalar": "Float", "dateScalar": "TimeInterval",
      "date": "Date?", "string": "String?", "stringScalar": "String?", "decimal": "NSDecimalNumber?", "uuid": "UUID?",
      "uri": "URL?", "binaryData": "Data?", "transformable": "NSObject?",
      "composite": "[String: Any]?", "`in`": "WSBox?", "parts": "NSSet?",
    ]
    for (name, type) in expected { #expect(text.contains("public var \(name): \(type) {")) }
    let strict = try #require(files { $0.isStrict = true }["Item+CoreDataProperties.swift"])
    #expect(strict.contains("public var string: String {"))
    #expect(strict.contains("public var stringScalar: String? {"))
    #expect(strict.contains("public var `in`: WSBox {"))
  }

  @Test("A class is called by its name in Swift where Objective-C has another")
  func swiftNames() throws {
    let files = files { $0.swiftNames = ["WSBox": "Box"] }
    #expect(files["Box+CoreDataProperties.swift"]?.contains("extension Box {") == true)
    #expect(files["Item+CoreDataProperties.swift"]?.contains("public var `in`: Box? {") == true)
  }

  @Test("Names that were made to harm stay names")
  func hostileNames() throws {
    var entity = EntityDocument(name: "A\")\nevil(\"\\", className: "Good")
    entity.codeGeneration = .class
    var named = AttributeDocument(name: "values", kind: .transformable)
    named.valueClassName = "[String: Set<Int>]"
    var evil = AttributeDocument(name: "other", kind: .transformable)
    evil.valueClassName = "Int; static let evil = run()"
    entity.attributes = [named, evil, AttributeDocument(name: "a\nevil()", kind: .string)]
    let document = ModelDocument(entities: [entity])
    let classes = GeneratedClasses(document, origin: "M\nevil().xcdatamodeld")
    #expect(classes.files.count == 2)
    for file in classes.files {
      for line in file.text.split(separator: "\n") where line.contains("evil") {
        let isComment = line.drop(while: { $0 == " " }).hasPrefix("//")
        #expect(isComment || line.contains("entityName: \"A\\\")\\nevil(\\\"\\\\\")"))
      }
    }
    let text = try #require(classes.files.last?.text)
    #expect(text.contains("var values: [String: Set<Int>]?") && text.contains("var other: NSObject?"))
  }

  @Test("Relationships have their methods, and names that no property can have are left out")
  func members() throws {
    let text = try #require(files()["WSBox+CoreDataProperties.swift"])
    for method in [
      "insertIntoItems(_ value: Item, at idx: Int)", "removeFromItems(at idx: Int)",
      "addToItems(_ values: NSOrderedSet)",
      "replaceItems(at indexes: NSIndexSet, with values: [Item])", "addToItems(_ values: [Item])",
    ] {
      #expect(text.contains("public func \(method) {"))
    }
    #expect(!text.contains("var hash") && !text.contains("var a-b"))
    #expect(!text.contains("Identifiable"))
    #expect(files()["Item+CoreDataProperties.swift"]?.contains("extension Item: Identifiable {}") == true)
  }

  @Test(
    "Every entity of every model among the fixtures gets a class",
    .enabled(if: Fixtures.isPresent, "needs the fixtures"))
  func fixtures() throws {
    var options = GeneratedClasses.Options()
    options.includesManual = true
    var (entities, classes) = (0, 0)
    for url in Fixtures.modelBundles {
      for version in try ModelBundle(contentsOf: url).versions {
        let generated = GeneratedClasses(version.document, origin: url.lastPathComponent, options: options)
        let named = version.document.entities.filter { GeneratedClasses.className(of: $0) != nil }
        entities += named.count
        classes += generated.files.filter { $0.name.hasSuffix("Properties.swift") }.count + generated.remarks.count
        for file in generated.files {
          #expect(file.text.filter { $0 == "{" }.count == file.text.filter { $0 == "}" }.count)
        }
      }
    }
    #expect(entities == classes)
    #expect(entities > 500)
  }
}
