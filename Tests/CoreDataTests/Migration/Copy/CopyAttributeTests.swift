// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Attributes copied by SQL")
struct CopyAttributeTests {
  private func person(_ attributes: [NSAttributeDescription]) -> ModelBuilder {
    var builder = ModelBuilder()
    builder.entity("Person", attributes)
    return builder
  }

  @Test("Columns, constants, default values and functions over columns")
  func expressions() throws {
    let steps = try CopySteps(
      person([.make("fullName", .stringAttributeType), .make("age", .integer32AttributeType)]),
      person([
        .make("first", .stringAttributeType), .make("last", .stringAttributeType), .make("years", .doubleAttributeType),
        .make("isAdult", .booleanAttributeType), .make("kind", .stringAttributeType),
        .make("rank", .integer16AttributeType, optional: false, default: 7), .make("label", .stringAttributeType),
      ]))
    try steps.fill { context in
      context.make("Person", ["fullName": "Ada Lovelace", "age": 36])
      context.make("Person", ["fullName": "Madonna", "age": 12])
      context.make("Person", optional: ["fullName": nil, "age": nil])
    }
    steps.map(
      "Person", "Person",
      [
        "first": "FUNCTION(FUNCTION($source.fullName, 'componentsSeparatedByString:', ' '), 'firstObject')",
        "last": "FUNCTION(FUNCTION($source.fullName, 'componentsSeparatedByString:', ' '), 'lastObject')",
        "years": "$source.age", "isAdult": "TERNARY($source.age >= 18, YES, NO)", "kind": "'person'",
        "label": "FUNCTION(FUNCTION($source, 'valueForKey:', 'fullName'), 'uppercaseString')",
      ])
    let dump = try steps.run()
    #expect(
      dump.objects["Person/p1"] == [
        "first": "Ada", "last": "Lovelace", "years": "36.0", "isAdult": "1", "kind": "person", "rank": "7",
        "label": "ADA LOVELACE",
      ])
    #expect(dump.objects["Person/p2"]?["isAdult"] == "0")
    #expect(dump.objects["Person/p3"]?["first"] == "nil" && dump.objects["Person/p3"]?["years"] == "nil")
  }

  @Test("Numbers become numbers of other types as setting them on an object would")
  func numbers() throws {
    let types: [(String, NSAttributeType)] = [
      ("int", .integer64AttributeType), ("double", .doubleAttributeType), ("decimal", .decimalAttributeType),
      ("flag", .booleanAttributeType), ("float", .floatAttributeType),
    ]
    let steps = try CopySteps(
      person(types.map { .make($0.0, $0.1) }),
      person(types.flatMap { from in types.map { .make("\(from.0)To\($0.0)", $0.1) } }))
    try steps.fill { context in
      context.make(
        "Person",
        ["int": 3, "double": 2.75, "decimal": NSDecimalNumber(string: "-1.5"), "flag": true, "float": Float(0.5)])
    }
    let mapping = steps.map("Person", "Person")
    mapping.attributeMappings = types.flatMap { from in
      types.map { to in
        let property = NSPropertyMapping()
        property.name = "\(from.0)To\(to.0)"
        property.valueExpression = NSExpression(format: "$source.\(from.0)")
        return property
      }
    }
    let values = try #require(try steps.run().objects["Person/p1"])
    #expect(values["intTodouble"] == "3.0" && values["intTodecimal"] == "3" && values["intToflag"] == "1")
    #expect(values["doubleToint"] == "2" && values["doubleTodecimal"] == "2.75" && values["doubleTofloat"] == "2.75")
    #expect(values["decimalToint"] == "-1" && values["decimalTodouble"] == "-1.5" && values["decimalToflag"] == "1")
    #expect(values["flagToint"] == "1" && values["flagTodouble"] == "1.0")
    // Any number but zero is true, as in a migration in place.
    #expect(values["floatToflag"] == "1" && values["floatToint"] == "0" && values["floatTodecimal"] == "0.5")
  }

  @Test("Every type of attribute keeps its value, as column and through a function")
  func types() throws {
    let types: [(String, NSAttributeType, Any)] = [
      ("data", .binaryDataAttributeType, Data([1, 0, 2])),
      ("date", .dateAttributeType, Date(timeIntervalSinceReferenceDate: 0.25)),
      ("decimal", .decimalAttributeType, NSDecimalNumber(string: "0.1")),
      ("id", .UUIDAttributeType, UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
      ("list", .transformableAttributeType, NSArray(array: ["a", "b"])), ("text", .stringAttributeType, "Zoë 👩‍🚀"),
      ("url", .URIAttributeType, URL(fileURLWithPath: "/tmp/a")), ("int", .integer64AttributeType, Int64.max),
      ("flag", .booleanAttributeType, true), ("float", .floatAttributeType, Float(0.1)),
    ]
    let steps = try CopySteps(
      person(types.map { .make($0.0, $0.1) }),
      person(types.map { .make($0.0, $0.1) } + types.map { .make("\($0.0)2", $0.1) }))
    try steps.fill { context in
      context.make("Person", Dictionary(uniqueKeysWithValues: types.map { ($0.0, $0.2) }))
    }
    let mapping = steps.map("Person", "Person")
    mapping.attributeMappings = types.flatMap { type in
      [("", "$source.\(type.0)"), ("2", "TERNARY($source.\(type.0) == nil, nil, $source.\(type.0))")].map {
        suffix, text in
        let property = NSPropertyMapping()
        property.name = type.0 + suffix
        property.valueExpression = NSExpression(format: text)
        return property
      }
    }
    let values = try #require(try steps.run().objects["Person/p1"])
    for type in types { #expect(values[type.0] == values["\(type.0)2"] && values[type.0] != "nil", "\(type.0)") }
    #expect(values["decimal"] == "0.1" && values["text"] == "Zoë 👩‍🚀" && values["int"] == "9223372036854775807")
  }

  @Test("Types that do not convert are told with mapping, property, value and the type that is wanted")
  func incompatible() throws {
    let steps = try CopySteps(
      person([.make("name", .stringAttributeType)]), person([.make("size", .integer32AttributeType)]))
    try steps.fill { $0.make("Person", ["name": "x"]) }
    steps.map("Person", "Person", ["size": "$source.name"])
    let error = try steps.failure()
    #expect(error.code == NSMigrationError)
    let reason = try #require(error.localizedFailureReason)
    for word in ["PersonToPerson", "'size'", "\"x\"", "NSNumber"] { #expect(reason.contains(word)) }
    #expect(!FileManager.default.fileExists(atPath: steps.target.path))
  }

  @Test("A function that does not exist is told with those that do")
  func unknownFunction() throws {
    let steps = try CopySteps(
      person([.make("name", .stringAttributeType)]), person([.make("name", .stringAttributeType)]))
    try steps.fill { $0.make("Person", ["name": "x"]) }
    steps.map("Person", "Person", ["name": "FUNCTION($source.name, 'reversedString')"])
    let reason = try #require(try steps.failure().localizedFailureReason)
    #expect(reason.contains("reversedString") && reason.contains("uppercaseString") && reason.contains("'name'"))
    #expect(try steps.store.files().filter { $0.hasPrefix("Target") || $0.contains(".new") } == [])
  }

  @Test("Key paths over relationships, counts and subqueries")
  func keyPaths() throws {
    func model(_ extra: [(String, NSAttributeType)]) -> ModelBuilder {
      var builder = ModelBuilder()
      let extra = { extra.map { NSAttributeDescription.make($0.0, $0.1) } }
      builder.entity("Person", [.make("name", .stringAttributeType)] + extra())
      builder.entity("Dog", [.make("name", .stringAttributeType), .make("age", .integer16AttributeType)] + extra())
      builder.relate(.init("Person", "dogs", toMany: true), .init("Dog", "owner"))
      return builder
    }
    let steps = try CopySteps(
      model([]), model([("note", .stringAttributeType), ("number", .integer32AttributeType)]))
    try steps.fill { context in
      let ada = context.make("Person", ["name": "Ada"])
      for age in [2, 9] { context.make("Dog", ["name": "Rex\(age)", "age": age, "owner": ada]) }
      context.make("Dog", ["name": "Stray", "age": 4])
    }
    steps.map(
      "Person", "Person",
      [
        "name": "$source.name", "number": "$source.dogs.@count",
        "note": "FUNCTION($source.dogs.@max.age, 'stringValue')",
      ])
    steps.map(
      "Dog", "Dog", ["name": "$source.name", "note": "$source.owner.name", "number": "$source.owner.dogs.@sum.age"])
    let dump = try steps.run()
    #expect(dump.values("Person", "number") == ["2"] && dump.values("Person", "note") == ["9"])
    #expect(dump.values("Dog", "note") == ["Ada", "Ada", "nil"])
    #expect(dump.values("Dog", "number") == ["11", "11", "nil"])
  }

  @Test("Large values get files of their own beside the copy, and those of the source stay")
  func externalData() throws {
    let steps = try CopySteps(
      person([.make("photo", .binaryDataAttributeType, external: true), .make("plain", .binaryDataAttributeType)]),
      person([
        .make("photo", .binaryDataAttributeType, external: true), .make("inline", .binaryDataAttributeType),
        .make("plain", .binaryDataAttributeType, external: true),
      ]))
    let large = Data(repeating: 7, count: 200_000)
    try steps.fill { $0.make("Person", ["photo": large, "plain": large]) }
    steps.map("Person", "Person", ["photo": "$source.photo", "inline": "$source.photo", "plain": "$source.plain"])
    let values = try #require(try steps.run().objects["Person/p1"])
    for name in ["photo", "inline", "plain"] { #expect(values[name] == large.base64EncodedString()) }
    func count(_ url: URL) throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: ExternalData(store: url).folder.path).count
    }
    #expect(try count(steps.target) == 2 && count(steps.store.url) == 1)
  }
}
