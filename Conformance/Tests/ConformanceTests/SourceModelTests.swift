// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// A model from the source `Models/Limits.xcdatamodeld`, compiled by Apple's compiler where there is one.
enum SourceModel {
  static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Models")

  struct NotCompiled: Error {
    let status: Int32
  }

  static func limits() throws -> NSManagedObjectModel {
    let source = directory.appendingPathComponent("Limits.xcdatamodeld")
    #if canImport(Darwin)
    let output = try StoreDirectory()
    let compiled = output.store("Limits.momd")
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/xcrun")
    compiler.arguments = ["momc", source.path, compiled.path]
    try compiler.run()
    compiler.waitUntilExit()
    guard compiler.terminationStatus == 0 else { throw NotCompiled(status: compiler.terminationStatus) }
    return try #require(NSManagedObjectModel(contentsOf: compiled))
    #else
    return try #require(NSManagedObjectModel(contentsOf: source))
    #endif
  }
}

@Suite("Models from sources")
struct SourceModelTests {
  private let model: NSManagedObjectModel

  init() throws {
    model = try SourceModel.limits()
  }

  @Test("A model from a source has the hashes of the same model made in code")
  func hashes() {
    let item = entity(
      "Item",
      [
        attribute("code"), attribute("count", .integer32AttributeType), attribute("date", .dateAttributeType),
        attribute("flag", .booleanAttributeType), attribute("price", .doubleAttributeType), attribute("title"),
      ])
    let group = entity("Group", [attribute("name")])
    connect(group, relationship("items", toMany: true, ordered: true), item, relationship("group"))
    let made = NSManagedObjectModel()
    made.entities = [item, group]
    #expect(model.entityVersionHashesByName == made.entityVersionHashesByName)
    #expect(model.versionChecksum == made.versionChecksum)
  }

  @Test("Default values of a source are those of new objects")
  func defaults() throws {
    let stack = try Stack(model)
    stack.run { context in
      let item = context.insert("Item")
      #expect(item.text("title") == "untitled")
      #expect(item.number("count") == 3)
      #expect(item.value(forKey: "flag") as? Bool == true)
      #expect(item.value(forKey: "price") as? Double == 0)
      #expect(item.value(forKey: "date") as? Date == Date(timeIntervalSinceReferenceDate: 3600))
      #expect(item.value(forKey: "code") == nil)
    }
  }

  @Test("Delete rules, order, renaming identifiers, user info, identifiers and templates are those of the source")
  func facts() throws {
    let items = try #require(model.entitiesByName["Group"]?.relationshipsByName["items"])
    #expect(items.deleteRule == .cascadeDeleteRule)
    #expect(items.isOrdered)
    #expect(items.isToMany)
    #expect(items.inverseRelationship?.name == "group")
    let item = try #require(model.entitiesByName["Item"])
    #expect(item.attributesByName["title"]?.renamingIdentifier == "name")
    #expect(item.attributesByName["code"]?.renamingIdentifier == "code")
    #expect(item.userInfo?["key"] as? String == "value")
    #expect(model.versionIdentifiers == ["first"])
    #expect(
      model.fetchRequestTemplate(forName: "Many")?.predicate == NSPredicate(format: "count > 5", argumentArray: []))
  }

  /// A value that breaks one limit, and the error of it.
  struct Broken: CustomTestStringConvertible, Sendable {
    let key: String
    let value: any Sendable
    let code: Int

    var testDescription: String { "\(key) \(value) is \(code)" }
  }

  static let broken = [
    Broken(key: "count", value: 10, code: NSValidationNumberTooLargeError),
    Broken(key: "count", value: 1, code: NSValidationNumberTooSmallError),
    Broken(key: "price", value: 2.75, code: NSValidationNumberTooLargeError),
    Broken(key: "date", value: Date(timeIntervalSinceReferenceDate: 90_000), code: NSValidationDateTooLateError),
    Broken(key: "date", value: Date(timeIntervalSinceReferenceDate: -1), code: NSValidationDateTooSoonError),
    Broken(key: "code", value: "abcde", code: NSValidationStringTooLongError),
    Broken(key: "code", value: "a", code: NSValidationStringTooShortError),
    Broken(key: "code", value: "ab1", code: NSValidationStringPatternMatchingError),
  ]

  @Test(
    "A value beyond a limit of the source is the error of this limit, with key, value and object", arguments: broken)
  func limits(broken: Broken) throws {
    let stack = try Stack(model)
    try stack.run { context in
      let item = context.insert("Item", [broken.key: broken.value])
      let failure = try thrown { try context.save() }
      #expect(failure.code == broken.code)
      #expect(failure.userInfo[NSValidationKeyErrorKey] as? String == broken.key)
      #expect(failure.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === item)
      #expect(
        (failure.userInfo[NSValidationValueErrorKey] as? NSObject) == (item.value(forKey: broken.key) as? NSObject))
    }
  }

  @Test("Values at the limits can be saved")
  func atLimits() throws {
    let stack = try Stack(model)
    #expect(throws: Never.self) {
      try stack.run { context in
        context.insert(
          "Item", ["count": 9, "price": 2.5, "code": "abcd", "date": Date(timeIntervalSinceReferenceDate: 0)])
        context.insert("Item", ["count": 2, "code": "ab", "date": Date(timeIntervalSinceReferenceDate: 86_400)])
        try context.save()
      }
    }
  }
}
