// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataTesting

/// Archives words, and nothing else.
private final class WordsTransformer: NSSecureUnarchiveFromDataTransformer, @unchecked Sendable {
  override class var allowedTopLevelClasses: [AnyClass] { [NSArray.self, NSString.self] }
}

/// Archives what only the app can make.
private final class AppTransformer: NSSecureUnarchiveFromDataTransformer, @unchecked Sendable {
  final class Shape: NSObject {}
  override class var allowedTopLevelClasses: [AnyClass] { [Shape.self] }
}

/// Takes for granted that it gets dates.
private final class DateTransformer: ValueTransformer, @unchecked Sendable {
  override func transformedValue(_ value: Any?) -> Any? {
    guard let date = value as? Date else { preconditionFailure("The transformer was made for dates.") }
    return Data("\(date.timeIntervalSinceReferenceDate)".utf8)
  }
}

@Suite("Rehearsals of migrations")
struct MigrationRehearsalTests {
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A model of versions; attributes of `Item` by version, and composites that all have, as XML.
  private func model(_ versions: String..., composites: String = "") throws -> URL {
    let url = folder.appendingPathComponent("M.xcdatamodeld")
    for (position, attributes) in versions.enumerated() {
      let contents = url.appendingPathComponent("M \(position + 1).xcdatamodel/contents")
      try FileManager.default.createDirectory(
        at: contents.deletingLastPathComponent(), withIntermediateDirectories: true)
      let text = """
        <?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="Item">
            <attribute name="name" optional="YES" attributeType="String"/>
            \(attributes)
            <relationship name="parts" optional="YES" toMany="YES" ordered="YES" destinationEntity="Part" inverseName="item"
              inverseEntity="Part"/>
          </entity>
          <entity name="Part">
            <relationship name="item" optional="YES" maxCount="1" destinationEntity="Item" inverseName="parts"
              inverseEntity="Item"/>
          </entity>
          \(composites)
        </model>
        """
      try Data(text.utf8).write(to: contents)
    }
    let current = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>M \(versions.count).xcdatamodel</string></dict></plist>
      """
    try Data(current.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
    return url
  }

  private static let total = "<attribute name=\"total\" optional=\"YES\" attributeType=\"Double\"/>"
  private static let sum = "<attribute name=\"sum\" optional=\"YES\" attributeType=\"Double\" elementID=\"total\"/>"

  @Test("A new composite attribute has the default values of its elements, and none where a required one has none")
  func newComposites() async throws {
    let places = ["place", "home", "site"].map {
      "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"Composite\" composite=\"\($0.capitalized)\"/>"
    }
    let street = "<attribute name=\"street\" optional=\"YES\" attributeType=\"String\" defaultValueString=\"Main\"/>"
    let url = try model(
      "", places.joined(),
      composites: """
        <composite name="Place">
          <attribute name="city" optional="YES" attributeType="String"/>\(street)
        </composite>
        <composite name="Home">
          <attribute name="city" attributeType="String"/>\(street)
        </composite>
        <composite name="Site">
          <attribute name="place" optional="YES" attributeType="Composite" composite="Place"/>
          <attribute name="home" optional="YES" attributeType="Composite" composite="Home"/>
        </composite>
        """)
    let rehearsal = try await expectMigration(of: url)
    #expect(rehearsal.cases.allSatisfy { $0.outcome == .same }, "\(rehearsal.cases.map(\.outcome))")
    let versions = try NSManagedObjectModel.versions(contentsOf: url).map(\.model.document)
    var before = StoreImage()
    let item = StoreImage.Key(entity: "Item", number: 1)
    before.objects[item] = .init(attributes: ["name": .text("a")], relationships: ["parts": []])
    let image = PathReference(steps: [(versions[0], versions[1])]).image(after: before)
    let place = StoreImage.Value.parts(["street": .text("Main")])
    #expect(image.objects[item]?.attributes["place"] == place)
    #expect(image.objects[item]?.attributes["home"] == StoreImage.Value.none)
    #expect(image.objects[item]?.attributes["site"] == .parts(["place": place]))
  }

  @Test("Stores of every version are migrated, and hold what the reference says")
  func everyVersion() async throws {
    let url = try model("", Self.total, Self.sum)
    let rehearsal = try await expectMigration(of: url)
    #expect(rehearsal.cases.map(\.source) == ["M 1", "M 1", "M 1", "M 2", "M 2", "M 2"])
    #expect(rehearsal.cases.allSatisfy { $0.outcome == .same }, "\(rehearsal.cases.map(\.outcome))")
    #expect(rehearsal.cases[3].path == ["M 2", "M 3"] && rehearsal.cases[3].rows["Item"]?.after == 4)
  }

  @Test("A lost value, a lost row, a row too many and another order are differences, each with its place")
  func differences() throws {
    let url = try model("", Self.total)
    let versions = try NSManagedObjectModel.versions(contentsOf: url).map(\.model.document)
    var before = StoreImage()
    let keys = (1...2).map { StoreImage.Key(entity: "Part", number: $0) }
    let item = StoreImage.Key(entity: "Item", number: 1)
    before.objects[item] = .init(attributes: ["name": .text("a")], relationships: ["parts": keys])
    for key in keys { before.objects[key] = .init(relationships: ["item": [item]]) }
    var after = before
    after.objects[item]?.attributes["total"] = StoreImage.Value.none
    let reference = PathReference(steps: [(versions[0], versions[1])])
    #expect(reference.outcome(before: before, after: after) == .same)
    func differences(_ edit: (inout StoreImage) -> Void) -> String {
      var changed = after
      edit(&changed)
      guard case .failed(let texts) = reference.outcome(before: before, after: changed) else { return "none" }
      return texts.joined(separator: "; ")
    }
    let value = differences { $0.objects[item]?.attributes["name"] = StoreImage.Value.none }
    let lost = differences { $0.objects[keys[0]] = nil }
    let extra = differences { $0.objects[.init(entity: "Part", number: 9)] = .init() }
    let order = differences { $0.objects[item]?.relationships["parts"]?.reverse() }
    #expect(value.contains("name") && lost.contains("Part/p1"), "\(value) \(lost)")
    #expect(extra.contains("Part/p9") && order.contains("parts"), "\(extra) \(order)")
  }

  @Test("A migration that fails although the rows allow it is a failure, else it is refused")
  func refusals() throws {
    let url = try model(Self.total, "<attribute name=\"total\" attributeType=\"Double\"/>")
    let versions = try NSManagedObjectModel.versions(contentsOf: url).map(\.model.document)
    let reference = PathReference(steps: [(versions[0], versions[1])])
    var image = StoreImage()
    let item = StoreImage.Key(entity: "Item", number: 1)
    image.objects[item] = .init(attributes: ["name": .text("a"), "total": .real(1)], relationships: ["parts": []])
    #expect(reference.refusal("why", image) == .failed(["why"]))
    image.objects[item]?.attributes["total"] = StoreImage.Value.none
    #expect(reference.refusal("why", image) == .refused("why"))
  }

  @Test("Objects that there are too few others for are left out, so that the rest keeps the rules")
  func counts() throws {
    let url = try model("", Self.total)
    for version in ["M 1", "M 2"] {
      let contents = url.appendingPathComponent("\(version).xcdatamodel/contents")
      let text = try String(contentsOf: contents, encoding: .utf8)
        .replacingOccurrences(of: "name=\"parts\" optional=\"YES\"", with: "name=\"parts\" minCount=\"1\"")
      try Data(text.utf8).write(to: contents)
    }
    let rehearsal = try MigrationRehearsal(modelsAt: url)
    #expect(rehearsal.cases.allSatisfy { $0.outcome == .same }, "\(rehearsal.cases.map(\.outcome))")
    let plain = try #require(rehearsal.cases.first { $0.content == "plain" })
    #expect((1...3).contains(plain.rows["Item"]?.after ?? 0) && plain.rows["Part"]?.after == 4)
  }

  @Test("A store that cannot be migrated fails, with the seed, and is left as it is")
  func failure() async throws {
    let url = try model("", Self.total)
    let store = folder.appendingPathComponent("Broken.sqlite")
    try Data(repeating: 1, count: 4096).write(to: store)
    let kept = folder.appendingPathComponent("Kept")
    await #expect(throws: MigrationExpectationFailure.self) {
      try await expectMigration(of: url, from: .stores([store]), seed: 7, keptIn: kept)
    }
    let rehearsal = try MigrationRehearsal(modelsAt: url, from: .stores([store]), seed: 7)
    #expect(MigrationExpectationFailure(rehearsal: rehearsal).description.contains("(seed 7)"))
    #expect(try Data(contentsOf: store) == Data(repeating: 1, count: 4096))
  }

  @Test("What the rows do not allow is refused, and the store stays as it was")
  func refusal() throws {
    // Extreme values leave the attribute empty in some rows.
    let url = try model(Self.total, "<attribute name=\"total\" attributeType=\"Double\"/>")
    let rehearsal = try MigrationRehearsal(modelsAt: url)
    let outcomes = Dictionary(uniqueKeysWithValues: rehearsal.cases.map { ($0.content, $0.outcome) })
    #expect(outcomes["plain"] == .same && outcomes["single"] == .same)
    guard case .refused(let reason)? = outcomes["extreme"] else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(reason.contains("total"))
  }

  @Test("Given stores are copied, never changed")
  func stores() throws {
    let url = try model("", Self.total)
    let store = folder.appendingPathComponent("Given.sqlite")
    let old = try NSManagedObjectModel.versions(contentsOf: url)[0].model
    try ManagedObjects.make(5, of: "Item", in: store, old)
    let connection = try SQLiteConnection(url: store, mode: .readWrite)
    try connection.setPragma("journal_mode", to: "WAL")
    try connection.close()
    let before = try Data(contentsOf: store)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let rehearsal = try MigrationRehearsal(modelsAt: url, from: .stores([store]))
    #expect(rehearsal.cases.map(\.name) == ["M 1 -> M 2, Given.sqlite"])
    #expect(rehearsal.cases[0].outcome == .same && rehearsal.cases[0].rows["Item"]?.after == 5)
    #expect(try Data(contentsOf: store) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == names)
  }

  @Test("Values keep the rules of the model; where none is found, the case is skipped and says so")
  func rules() throws {
    let rules = """
      <attribute name="code" attributeType="String" minValueString="3" maxValueString="5"/>
      <attribute name="key" attributeType="String" regularExpressionString="^(WS|XY)-[0-9]{4}-\\d{4}(/[A-Z]+)?$"/>
      <attribute name="mail" attributeType="String" regularExpressionString="[a-z0-9]+@[a-z.]+"/>
      <attribute name="grade" attributeType="Integer 16" minValueString="1" maxValueString="6" usesScalarValueType="YES"/>
      <attribute name="rate" attributeType="Double" minValueString="0.5" maxValueString="0.75" usesScalarValueType="YES"/>
      """
    let rehearsal = try MigrationRehearsal(modelsAt: try model(rules, rules + Self.total))
    #expect(rehearsal.cases.allSatisfy { $0.outcome == .same }, "\(rehearsal.cases.map(\.outcome))")
    try FileManager.default.removeItem(at: folder.appendingPathComponent("M.xcdatamodeld"))
    let odd = "<attribute name=\"odd\" attributeType=\"String\" regularExpressionString=\"(?=a)b\"/>"
    let skipped = try MigrationRehearsal(modelsAt: try model(odd, odd + Self.total), from: .versions(["M 1"]))
    guard case .skipped(let reason) = skipped.cases[1].outcome else {
      Issue.record("\(skipped.cases[1].outcome)")
      return
    }
    #expect(reason.contains("Item.odd"))
  }

  @Test(
    "Transformable values are of classes that the app's transformers archive; those that only the app makes are left out"
  )
  func transformers() async throws {
    let transformers: [(String, ValueTransformer)] = [
      ("words", WordsTransformer()), ("shape", AppTransformer()), ("date", DateTransformer()),
    ]
    for (name, transformer) in transformers {
      ValueTransformer.setValueTransformer(transformer, forName: .init("Rehearsal-\(name)"))
    }
    let attributes = transformers.map { name, _ in
      "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"Transformable\" "
        + "valueTransformerName=\"Rehearsal-\(name)\"/>"
    }.joined()
    let url = try model(attributes, attributes + Self.total)
    let rehearsal = try await expectMigration(of: url)
    #expect(rehearsal.cases.allSatisfy { $0.outcome == .same }, "\(rehearsal.cases)")

    let document = try ModelBundle(contentsOf: url).document(named: "M 1")
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try ModelFilling.lenient(document))
    try context.persistentStoreCoordinator?.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    var filling = ModelFilling(document, .plain)
    try filling.fill(context)
    let items = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Item"))
    #expect(items.count == 4)
    for item in items {
      #expect(item.value(forKey: "words") is NSString)
      #expect(item.value(forKey: "shape") == nil && item.value(forKey: "date") == nil)
    }
    // A value that is required, and that only the app can make, is a reason to leave out the case.
    let required =
      "<attribute name=\"shape\" attributeType=\"Transformable\" valueTransformerName=\"Rehearsal-shape\"/>"
    let skipped = try MigrationRehearsal(modelsAt: model(required, required + Self.total))
    for item in skipped.cases where item.content != "extreme" {
      guard case .skipped(let reason) = item.outcome else {
        Issue.record("\(item)")
        continue
      }
      #expect(reason.contains("shape"))
    }
  }

  @Test("A mapping model without policies is held to the objects it makes, and to the values it copies")
  func mapped() throws {
    func document(_ attributes: String...) throws -> ModelDocument {
      var entity = EntityDocument(name: "Item")
      entity.attributes = attributes.map { AttributeDocument(name: $0, kind: .string) }
      return ModelDocument(entities: [entity])
    }
    let (old, new) = (try document("name", "note"), try document("title", "kind", "note"))
    var item = EntityMappingDocument(
      name: "ItemToItem", kind: .custom, sourceEntityName: "Item", destinationEntityName: "Item")
    func map(_ name: String, _ expression: String) throws {
      item.attributeMappings.append(
        PropertyMappingDocument(name: name, valueExpression: try PredicateParser.parseExpression(expression)))
    }
    try map("title", "$source.name")
    try map("kind", "uppercase:($source.name)")
    func reference() -> MappedReference? {
      MappedReference(MappingDocument(entityMappings: [item]), from: old, to: new)
    }
    func image(_ objects: [[String: String]]) -> StoreImage {
      var image = StoreImage()
      for (number, values) in objects.enumerated() {
        image.objects[.init(entity: "Item", number: number + 1)] = .init(attributes: values.mapValues { .text($0) })
      }
      return image
    }
    let before = image([["name": "a", "note": "x"], ["name": "b", "note": "y"], ["name": "b", "note": "z"]])
    func differences(_ objects: [[String: String]]) -> [String]? {
      reference()?.differences(before: before, after: image(objects))
    }
    // Neither keys nor the results of other expressions matter, nor what no mapping names.
    #expect(differences([["title": "b", "kind": "?"], ["title": "a"], ["title": "b"]]) == [])
    #expect(differences([["title": "b"], ["title": "a"]]) == ["Item has 2 objects instead of 3"])
    #expect(
      differences([["title": "b"], ["title": "a"], ["title": "a"]])
        == ["no Item has title = \"b\", as a source object has"])
    // A filter, or a policy, can leave objects out.
    item.sourceExpression = try PredicateParser.parseExpression(
      "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Item', 'name == \"a\"'), "
        + "$manager.sourceContext, NO)")
    #expect(differences([]) == [])
    (item.sourceExpression, item.policyClassName) = (nil, "Policy")
    #expect(reference() == nil)
  }

  @Test("An unknown version is an error")
  func unknown() throws {
    let url = try model("", Self.total)
    #expect(throws: (any Error).self) { try MigrationRehearsal(modelsAt: url, from: .versions(["M 9"])) }
    #expect(throws: (any Error).self) { try MigrationRehearsal(modelsAt: url, to: "M 9") }
  }
}

private enum ManagedObjects {
  static func make(_ count: Int, of entity: String, in store: URL, _ model: NSManagedObjectModel) throws {
    try withContext(model, at: store, options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]]) { context in
      for number in 0..<count {
        NSEntityDescription.insertNewObject(forEntityName: entity, into: context).setValue("\(number)", forKey: "name")
      }
      try context.save()
    }
  }
}
