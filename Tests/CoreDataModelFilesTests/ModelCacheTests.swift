// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Model caches")
struct ModelCacheTests {
  /// A model with something of everything.
  static func richModel() -> ModelDocument {
    var place = EntityDocument(name: "Place", isAbstract: true, className: "Place")
    place.userInfo = ["key": .string("value"), "list": .array([.integer(1), .real(2.5), .boolean(true)])]
    place.uniquenessConstraints = [["name", "code"], ["id"]]
    place.indexes = [
      FetchIndexDocument(name: "byName", elements: [FetchIndexElementDocument(propertyName: "name")]),
      FetchIndexDocument(
        name: "byPosition",
        elements: [
          FetchIndexElementDocument(propertyName: "x", isRTree: true),
          FetchIndexElementDocument(propertyName: "y", isRTree: true, isAscending: false),
        ], partialIndexPredicate: .comparison(ComparisonSyntax(.keyPath("x"), .greaterThan, .constant(.real(0))))),
    ]
    place.compoundIndexes = [["code", "name"]]
    place.attributes = attributes()
    place.relationships = [
      RelationshipDocument(name: "visits", destinationEntityName: "Visit", inverseName: "place", isToMany: true)
    ]
    place.relationships[0].isOrdered = true
    place.relationships[0].minCount = 1
    place.relationships[0].deleteRule = .cascade
    place.relationships[0].versionHashModifier = "4"

    var town = EntityDocument(name: "Town", parentName: "Place", className: "Town")
    town.renamingIdentifier = "City"
    town.versionHashModifier = "2"
    var nearest = FetchRequestDocument(
      name: "", entityName: "Town",
      predicate: .comparison(ComparisonSyntax(.keyPath("name"), .equalTo, .variable("N"))))
    nearest.fetchLimit = 3
    town.fetchedProperties = [FetchedPropertyDocument(name: "nearest", request: nearest)]
    var visit = EntityDocument(name: "Visit")
    visit.relationships = [
      RelationshipDocument(name: "place", destinationEntityName: "Town", inverseName: "visits", isOptional: false)
    ]
    var request = FetchRequestDocument(name: "All", entityName: "Visit")
    request.sortKeys = [SortKeyDocument(keyPath: "place.name", ascending: false)]
    request.resultType = 2
    request.includesSubentities = false
    return ModelDocument(
      entities: [place, town, visit],
      configurations: [ConfigurationDocument(name: "Local", entityNames: ["Place", "Town"])],
      fetchRequestTemplates: [request], versionIdentifiers: ["1", "2"])
  }

  private static func attributes() -> [AttributeDocument] {
    let defaults: [(String, AttributeKind, PlainValue?)] = [
      ("active", .boolean, .boolean(true)), ("code", .integer16, .integer(-3)), ("color", .transformable, nil),
      ("count", .integer64, .integer(.max)), ("home", .uri, .url(URL(string: "https://example.org/")!)),
      ("id", .uuid, .uuid(UUID(uuidString: "12345678-1234-1234-1234-123456789ABC")!)),
      ("image", .binaryData, .data(Data([0, 1, 2]))), ("name", .string, .string("Größe")),
      ("price", .decimal, .decimal(Decimal(string: "-10.11")!)),
      ("since", .date, .date(Date(timeIntervalSinceReferenceDate: 1.5))), ("visitCount", .integer64, nil),
      ("where", .composite, nil), ("x", .double, .real(0.5)), ("y", .float, .real(-1)),
    ]
    var attributes = defaults.map { name, kind, value in
      var attribute = AttributeDocument(name: name, kind: kind, isOptional: kind != .string)
      attribute.defaultValue = value
      return attribute
    }
    func change(_ name: String, _ body: (inout AttributeDocument) -> Void) {
      for position in attributes.indices where attributes[position].name == name { body(&attributes[position]) }
    }
    change("color") {
      $0.valueClassName = "Color"
      $0.valueTransformerName = "ColorTransformer"
      $0.isTransient = true
    }
    change("image") {
      $0.allowsExternalBinaryDataStorage = true
      $0.preservesValueInHistoryOnDeletion = true
    }
    change("name") {
      $0.validations = [
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(.keyPath("length"), .lessThanOrEqualTo, .constant(.integer(5)))),
          warning: .integer(1660)),
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(.evaluatedObject, .matches, .constant(.string("[a-z]+")))),
          warning: .string("letters only")),
      ]
      $0.renamingIdentifier = "title"
      $0.versionHashModifier = "3"
      $0.userInfo = ["a": .string("b")]
    }
    change("visitCount") { $0.derivation = .keyPath("visits.@count") }
    change("code") { $0.isIndexed = true }
    change("where") { $0.elements = [AttributeDocument(name: "lat", kind: .double)] }
    return attributes
  }

  @Test("A model with something of everything comes back equal")
  func everything() throws {
    let document = Self.richModel()
    let decoded = try ModelCache.decode(ModelCache.encode(document))
    for (left, right) in zip(decoded.entities, document.entities) { #expect(left == right) }
    #expect(decoded == document)
    #expect(VersionHashes(decoded).entities == VersionHashes(document).entities)
  }

  @Test("Stand-ins for inherited properties, as caches of some stores have them, are read as the properties themselves")
  func standIns() throws {
    let document = Self.richModel()
    var archive = try EditedArchive(ModelCache.archive(document))
    #expect(archive.useStandIns() == document.entities[0].propertyNames.count)
    #expect(try ModelCache.unarchive(archive.data) == document)
  }

  @Test("A stand-in that leads to itself, or to nothing, is refused")
  func wrongStandIns() throws {
    for underlying: ArchiveValue? in [nil, .uid(0)] {
      var archive = try EditedArchive(ModelCache.archive(Self.richModel()))
      _ = archive.useStandIns()
      _ = archive.edit("_NSPropertyDescriptionProxy") { position, fields, _ in
        fields["NSUnderlyingProperty"] = underlying ?? .uid(position)
        return true
      }
      let error = #expect(throws: ModelFileError.self) { try ModelCache.unarchive(archive.data) }
      #expect(error?.kind == .brokenArchive)
    }
  }

  @Test("An object of an app's class as a default value, or in user info, is kept as it came")
  func appObjects() throws {
    var entity = EntityDocument(name: "Book")
    entity.attributes = [AttributeDocument(name: "cover", kind: .transformable)]
    entity.userInfo = ["a": .string("b")]
    var archive = try EditedArchive(ModelCache.archive(ModelDocument(entities: [entity])))
    let title = archive.add(.string("a title"))
    let inner = archive.add("Shop.Color", ["red": .real(0.5)])
    let cover = archive.add("Shop.Cover", ["title": title, "colors": .array([inner, inner]), "count": .integer(3)])
    _ = archive.edit("NSAttributeDescription") { _, fields, _ in
      fields["NSDefaultValue"] = cover
      return true
    }
    let read = try ModelCache.unarchive(archive.data)
    guard case .object(let object)? = read.entities[0].attributes[0].defaultValue,
      let kept = object.value.base as? ArchivedInstance
    else {
      Issue.record("The default value is \(String(describing: read.entities[0].attributes[0].defaultValue)).")
      return
    }
    #expect(kept.className == "Shop.Cover")
    let root = try KeyedArchive(kept.archive).root()
    #expect(try root.string("title") == "a title" && root.integer("count") == 3)
    guard case .array(let colors)? = root.fields["colors"] else { return #expect(Bool(false), "no colours") }
    #expect(colors.count == 2 && colors[0] == colors[1])
    #expect(try root.archive.object(colors[0])?.className == "Shop.Color")
    // And it is written and read again without a loss.
    let again = try ModelCache.decode(ModelCache.encode(read))
    #expect(again == read)
    #expect(VersionHashes(again).entities == VersionHashes(ModelDocument(entities: [entity])).entities)
  }

  @Test("Predicates and expressions of every kind come back equal", arguments: everyPredicate)
  func predicates(predicate: PredicateSyntax) throws {
    var entity = EntityDocument(name: "E")
    var attribute = AttributeDocument(name: "a", kind: .string)
    attribute.validations = [ValidationDocument(predicate: predicate, warning: .integer(1))]
    entity.attributes = [attribute]
    let document = ModelDocument(entities: [entity])
    #expect(try ModelCache.decode(ModelCache.encode(document)) == document)
  }

  @Test("Damaged archives are refused or read, and never bring the program down")
  func mutations() throws {
    let archive = try ModelCache.archive(Self.richModel())
    var random = Dice(state: 42)
    var refused = 0
    for _ in 0..<2000 {
      var copy = archive
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        copy[Int.random(in: 0..<copy.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      if !isReadable(copy) { refused += 1 }
    }
    #expect(refused > 500)
    for length in stride(from: 0, to: archive.count, by: 37) {
      #expect(!isReadable(archive.prefix(length)))
    }
  }

  @Test("Damaged packed caches are refused or read, and never bring the program down")
  func packedMutations() throws {
    let packed = try ModelCache.encode(Self.richModel())
    var random = Dice(state: 7)
    for _ in 0..<500 {
      var copy = packed
      copy[Int.random(in: 0..<copy.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      do { _ = try ModelCache.decode(copy) } catch { #expect(error is ModelFileError) }
    }
    for length in stride(from: 0, to: packed.count, by: 11) {
      #expect(throws: ModelFileError.self) { try ModelCache.decode(packed.prefix(length)) }
    }
  }

  private func isReadable(_ archive: Data) -> Bool {
    do {
      let document = try ModelCache.unarchive(Data(archive))
      _ = VersionHashes(document)
      return true
    } catch {
      #expect(error is ModelFileError)
      return false
    }
  }
}

/// A generator that gives the same numbers in every run.
struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}

/// Predicates with every operator and every kind of expression.
private let everyPredicate: [PredicateSyntax] = {
  let name = ExpressionSyntax.keyPath("name")
  let text = ExpressionSyntax.constant(.string("a"))
  let operators: [ComparisonSyntax.Operator] = [
    .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo, .matches, .like,
    .beginsWith, .endsWith, .in, .contains, .between,
  ]
  let comparisons = operators.map { PredicateSyntax.comparison(ComparisonSyntax(name, $0, text)) }
  let folded = PredicateSyntax.comparison(
    ComparisonSyntax(
      .keyPath("books.title"), .beginsWith, text, modifier: .any, options: [.caseInsensitive, .diacriticInsensitive]))
  let custom = PredicateSyntax.comparison(ComparisonSyntax(name, .customSelector, text, selector: "isLike:"))
  let expressions: [ExpressionSyntax] = [
    .constant(.null), .constant(.array([.integer(1), .null])), .evaluatedObject, .variable("v"), .anyKey,
    .keyPathOf(.variable("source"), "a.b"), .aggregate([name, text]),
    .function(operand: nil, name: "sum:", arguments: [name]), .function(operand: nil, name: "now", arguments: []),
    .function(operand: .variable("manager"), name: "do:with:", arguments: [text, name]),
    .union(name, text), .intersect(name, text), .minus(name, text),
    .subquery(collection: name, variable: "x", predicate: .constant(true)),
    .conditional(folded, name, text), .fetch(request: name, context: text, countOnly: true),
  ]
  return comparisons + [folded, custom, .constant(true), .constant(false)]
    + [.and([folded, .not(custom)]), .or([folded, custom]), .not(.and([]))]
    + expressions.map { .comparison(ComparisonSyntax(name, .equalTo, $0)) }
}()
