// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("XML stores")
struct XMLStoreTests {
  /// The model of Xcode's mapping models, as their files show it.
  private static func mappingModel() -> NSManagedObjectModel {
    func strings(_ names: String...) -> [NSAttributeDescription] { names.map { .make($0, .stringAttributeType) } }
    var builder = ModelBuilder()
    builder.entity(
      "XDDevMappingModel",
      strings("sourceModelPath", "destinationModelPath") + [
        .make("sourceModelData", .binaryDataAttributeType), .make("destinationModelData", .binaryDataAttributeType),
      ])
    builder.entity(
      "XDDevEntityMapping",
      strings(
        "destinationName", "mappingTypeName", "migrationPolicyClassName", "name", "sourceFilterPredicateString",
        "sourceName") + [
          .make("autogenerateExpression", .booleanAttributeType), .make("mappingNumber", .integer16AttributeType),
          .make("userInfoData", .binaryDataAttributeType),
        ])
    builder.entity("XDDevAttributeMapping", strings("name") + [.make("valueExpressionData", .binaryDataAttributeType)])
    builder.entity(
      "XDDevRelationshipMapping",
      strings("name", "sourceKeyPath", "sourceMappingName") + [
        .make("valueExpressionData", .binaryDataAttributeType), .make("autogenerateExpression", .booleanAttributeType),
      ])
    builder.relate(
      .init("XDDevMappingModel", "entityMappings", toMany: true), .init("XDDevEntityMapping", "mappingModel"))
    builder.relate(
      .init("XDDevEntityMapping", "attributeMappings", toMany: true), .init("XDDevAttributeMapping", "entityMapping"))
    builder.relate(
      .init("XDDevEntityMapping", "relationshipMappings", toMany: true),
      .init("XDDevRelationshipMapping", "entityMapping"))
    return builder.model()
  }

  /// The values of an object, with binary data decoded: Apple's tools break its lines at other places.
  private static func values(of object: XMLStoreDocument.Object) -> [String: Data] {
    Dictionary(
      uniqueKeysWithValues: object.attributes.map { attribute in
        let decoded = Data(base64Encoded: attribute.text, options: .ignoreUnknownCharacters)
        return (attribute.name, attribute.type == "binary" ? decoded ?? Data() : Data(attribute.text.utf8))
      })
  }

  @Test(
    "Every specimen of Apple's format is read as a store, and comes back byte for byte",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func specimens() throws {
    #expect(Fixtures.mappingSources.count == 32)
    for folder in Fixtures.mappingSources {
      let url = folder.appendingPathComponent("xcmapping.xml")
      let name = Comment(rawValue: Fixtures.name(of: folder))
      let data = try Data(contentsOf: url)
      let document = try XMLStoreDocument(contentsOf: data, file: url)
      // Version control has removed the empty line of some files.
      let text = String(decoding: data, as: UTF8.self).replacingOccurrences(of: ".dtd\">\n<", with: ".dtd\">\n\n<")
      // Older tools wrote another declaration.
      let written = String(decoding: try document.data(), as: UTF8.self).split(separator: "\n").dropFirst()
      let lines = text.split(separator: "\n").dropFirst()
      let difference = zip(written, lines).first { $0 != $1 }
      #expect(difference == nil && written.count == lines.count, "\(name): \(String(describing: difference))")

      let copy = try TemporaryStore("xcmapping.xml")
      try data.write(to: copy.url)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.mappingModel())
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .xml, at: copy.url)
      #expect(
        metadata[NSStoreUUIDKey] as? String == document.uuid && metadata[NSStoreTypeKey] as? String == "XML", name)
      try coordinator.addPersistentStore(
        type: .xml, at: copy.url, options: [NSIgnorePersistentStoreVersioningOption: true])
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      let mappings = try context.all("XDDevEntityMapping", by: "mappingNumber")
      #expect(mappings.count == document.objects.count { $0.type == "XDDEVENTITYMAPPING" }, name)
      for mapping in mappings {
        let attributes = try #require(mapping["attributeMappings"] as? Set<NSManagedObject>)
        #expect(attributes.allSatisfy { $0["entityMapping"] as? NSManagedObject === mapping }, name)
      }
      let first = try #require(mappings.first)
      let number = try #require(Int64(first.objectID.uriRepresentation().lastPathComponent.dropFirst()))
      #expect(document.objects.contains { $0.number == number && $0.type == "XDDEVENTITYMAPPING" }, name)
      // What is changed and saved has the old objects and the new one.
      first["name"] = "Renamed"
      context.make("XDDevAttributeMapping", ["name": "new", "entityMapping": first])
      try context.save()
      let saved = try XMLStoreDocument(contentsOf: Data(contentsOf: copy.url), file: copy.url)
      #expect(saved.objects.count == document.objects.count + 1 && saved.lastNumber == document.lastNumber + 1, name)
      let before = Dictionary(uniqueKeysWithValues: document.objects.map { ($0.number, Self.values(of: $0)) })
      let unlike = saved.objects.filter { before[$0.number] != Self.values(of: $0) }
      #expect(unlike.map(\.number).sorted() == [number, saved.lastNumber].sorted(), name)
    }
  }

  @Test("A file has Apple's names, types and references")
  func format() throws {
    let bench = try StoreKindBench(.xml)
    let context = bench.context()
    let bob = context.make("Manager", ["name": "Bob", "hired": Date(timeIntervalSinceReferenceDate: 347_155_200)])
    try context.save()
    bob.mutableSetValue(forKey: "reports").add(
      context.make("Employee", ["name": "<A&B>\\", "isActive": true, "badge": 7]))
    try context.save()
    let text = try String(contentsOf: bench.url, encoding: .utf8)
    #expect(text.hasPrefix("<?xml version=\"1.0\" standalone=\"yes\"?>\n<!DOCTYPE database SYSTEM \"file:///System/"))
    let identifier = try #require(bench.store.identifier)
    #expect(text.contains("<UUID>\(identifier)</UUID>\n        <nextObjectID>103</nextObjectID>"))
    for line in [
      "<object type=\"EMPLOYEE\" id=\"z103\">", "<attribute name=\"isactive\" type=\"bool\">1</attribute>",
      "<attribute name=\"badge\" type=\"int32\">7</attribute>",
      "<attribute name=\"name\" type=\"string\">&lt;A&amp;B&gt;\\u5c00</attribute>",
      "<attribute name=\"hired\" type=\"date\">347155200.00000000000000000000</attribute>",
      "<relationship name=\"manager\" type=\"1/1\" destination=\"MANAGER\" idrefs=\"z102\"></relationship>",
      "<relationship name=\"reports\" type=\"0/0\" destination=\"EMPLOYEE\" idrefs=\"z103\"></relationship>",
      "<relationship name=\"department\" type=\"1/1\" destination=\"DEPARTMENT\"></relationship>",
    ] {
      #expect(text.contains(line), "\(line)")
    }
    #expect(!text.contains("name=\"age\"") && !text.contains("mood"))
  }

  @Test(
    "Names that differ only in capitals, composite attributes and values at the edges come back",
    arguments: [StoreKind.xml, .binary])
  func edges(_ kind: StoreKind) throws {
    let model: () -> NSManagedObjectModel = {
      var builder = ModelBuilder()
      builder.entity("Item", [.make("aB", .stringAttributeType), .make("ab", .stringAttributeType)])
      builder.entity("ITEM", [.make("title", .stringAttributeType)])
      let place = NSCompositeAttributeDescription()
      place.name = "place"
      place.elements = [.make("x", .doubleAttributeType), .make("label", .stringAttributeType)]
      builder.entity(
        "Spot",
        [
          place, .make("title", .stringAttributeType), .make("real", .doubleAttributeType),
          .make("when", .dateAttributeType), .make("price", .decimalAttributeType),
          .make("single", .floatAttributeType),
        ])
      return builder.model()
    }
    let bench = try StoreKindBench(kind, model)
    let context = bench.context()
    context.make("Item", ["aB": "caf\u{E9}", "ab": "cafe\u{301}"])
    context.make("ITEM", ["title": "3"])
    let reals: [Double] = [.pi, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, 1e-300]
    for (number, real) in reals.enumerated() {
      context.make(
        "Spot",
        [
          "title": "\(number)", "real": real, "when": Date(timeIntervalSinceReferenceDate: real), "single": Float(real),
          "price": number == 0 ? NSDecimalNumber.notANumber : NSDecimalNumber(string: "-1.5e\(number * 20)"),
          "place": number == 1 ? ["x": real] as [String: Any] : ["x": real, "label": "here.\(number)"],
        ])
    }
    context.make("Spot", ["title": "none"])
    try context.save()
    let before = try StoreKindBench.contents(of: context)
    try bench.reopen()
    let after = try bench.contents()
    let difference = Set(after).symmetricDifference(before).sorted()
    #expect(difference == [] && after.count == before.count, "\(difference)")
    let item = try bench.context().all("Item", by: "aB").first
    #expect(item.map { ($0["aB"] as? String ?? "").utf8.count } == 5)
    #expect(item.map { ($0["ab"] as? String ?? "").utf8.count } == 6)
    let spots = try bench.context().all("Spot", by: "title")
    #expect(spots.prefix(reals.count).compactMap { $0["real"] as? Double } == reals)
    #expect(spots[3].value(forKeyPath: "place.label") as? String == "here.3" && spots.last?["place"] == nil)
  }

  @Test(
    "Files of more than 10 MB are read again, also with one value of that size", arguments: [StoreKind.xml, .binary])
  func largeFile(_ kind: StoreKind) throws {
    var builder = ModelBuilder()
    builder.entity("Note", [.make("text", .stringAttributeType), .make("photo", .binaryDataAttributeType)])
    let model = builder.model()
    let store = try TemporaryStore()
    let text = String(repeating: "ä & b\n", count: 20_000)
    let photos = [10_000_000, 1_000_000, 2].map { Data(repeating: 7, count: $0) }
    func context() throws -> NSManagedObjectContext {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try context.coordinator.addPersistentStore(type: kind.type, at: store.url)
      return context
    }
    let writer = try context()
    for photo in photos { writer.make("Note", ["text": text, "photo": photo]) }
    try writer.save()
    let reader = try context()
    let notes = try reader.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
    #expect(Set(notes.map { $0["photo"] as? Data }) == Set(photos))
    #expect(notes.allSatisfy { $0["text"] as? String == text })
  }

  @Test("A file that is no such store, or does not fit the model, is 259 with the line")
  func hostile() throws {
    let bench = try StoreKindBench(.xml)
    let context = bench.context()
    context.make(
      "Manager", ["name": "Bob", "reports": NSSet(object: context.make("Employee", ["name": "Ada", "age": 5]))])
    try context.save()
    let good = try String(contentsOf: bench.url, encoding: .utf8)
    try bench.coordinator.remove(bench.store)
    func refused(_ text: String, _ found: String) throws {
      try Data(text.utf8).write(to: bench.url)
      #expect("\(found)") {
        try NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make()).addPersistentStore(
          type: .xml, at: bench.url)
      } throws: { error in
        let error = error as NSError
        return error.code == CocoaError.Code.fileReadCorruptFile.rawValue
          && error.localizedFailureReason?.contains(found) == true
      }
      #expect(try String(contentsOf: bench.url, encoding: .utf8) == text)
    }
    func changed(_ old: String, _ new: String) -> String {
      #expect(good.contains(old))
      return good.replacingOccurrences(of: old, with: new)
    }
    try refused("garbage", "not XML")
    try refused(String(good.dropLast(30)), "truncated")
    try refused("<plist></plist>", "<database>")
    try refused(changed("<!DOCTYPE", "<!DOCTYPE x [<!ENTITY a \"b\">]><!DOCTYPE"), "entities")
    try refused(
      good.replacingOccurrences(of: "UUID>", with: "GUID>"), "<UUID>")
    try refused(changed("type=\"int16\">5<", "type=\"int16\">five<"), "\"five\", which is not an integer")
    try refused(changed("type=\"int16\">5<", "type=\"int16\">70000<"), "range")
    try refused(changed("id=\"z103\"", "id=\"z102\""), "two objects")
    try refused(changed("id=\"z103\"", "id=\"103\""), "no id")
    try refused(changed("type=\"EMPLOYEE\"", "type=\"ALIEN\""), "\"ALIEN\"")
    try refused(changed("name=\"age\"", "name=\"agee\""), "\"agee\"")
    try refused(
      changed("destination=\"DEPARTMENT\"></", "destination=\"DEPARTMENT\" idrefs=\"z102\"></"),
      "not an object of 'Department'")
    try Data().write(to: bench.url)
    let fresh = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try fresh.addPersistentStore(type: .xml, at: bench.url)
    #expect(fresh.persistentStores.count == 1)
  }

  @Test("Damaged binary stores are refused, whatever byte is wrong")
  func damaged() throws {
    let bench = try StoreKindBench(.binary)
    let context = bench.context()
    context.make(
      "Manager", ["name": "Bob", "reports": NSSet(object: context.make("Employee", ["name": "Ada", "age": 5]))])
    try context.save()
    try bench.coordinator.remove(bench.store)
    let good = try Data(contentsOf: bench.url)
    var refused = 0
    var random = SeededGenerator(seed: 7)
    for _ in 0..<300 {
      var bad = good
      let position = Int(random.next() % UInt64(bad.count))
      bad[position] = UInt8(truncatingIfNeeded: random.next())
      if position % 3 == 0 { bad = bad.prefix(position) }
      try bad.write(to: bench.url)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      do {
        try coordinator.addPersistentStore(type: .binary, at: bench.url)
      } catch let error as NSError {
        refused += 1
        #expect(
          [CocoaError.Code.fileReadCorruptFile.rawValue, NSPersistentStoreIncompatibleVersionHashError].contains(
            error.code))
      }
    }
    #expect(refused > 100)
  }
}
