// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Transformable attributes")
struct TransformableTests {
  private func saved(_ tags: NSObject) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.make("Employee", ["name": "Ada", "tags": tags])
    try context.save()
    try store.close()
    return store
  }

  private func stored(_ store: TemporaryStore) throws -> Data {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    return try #require(try connection.scalar("SELECT ZTAGS FROM ZEMPLOYEE")?.blob)
  }

  private func put(_ data: Data, into store: TemporaryStore) throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE ZEMPLOYEE SET ZTAGS = ?", [.blob(data)])
    try connection.close()
  }

  @Test("Reading a value changes neither the object nor, when something else is saved, the stored bytes")
  func reading() throws {
    let store = try saved(["a", "b"] as NSArray)
    // Another archive of the same value, as an earlier version or Apple's archiver may have written it.
    let data = try NSKeyedArchiver.archivedData(withRootObject: ["x", ["y"]] as NSArray, requiringSecureCoding: false)
    try put(data, into: store)
    let context = try store.context(CompanyModel.make())
    let ada = try #require(try context.all("Employee").first)
    #expect(ada["tags"] as? NSArray == ["x", ["y"]] as NSArray)
    #expect(ada["tags"] as AnyObject === ada["tags"] as AnyObject)
    #expect(!ada.hasChanges && !context.hasChanges)
    #expect(ada.changedValues().isEmpty)
    ada["name"] = "Ada L."
    #expect(Array(ada.changedValues().keys) == ["name"])
    try context.save()
    try store.close()
    #expect(try stored(store) == data)
  }

  @Test("Setting an equal value changes nothing, and another one is saved")
  func setting() throws {
    let store = try saved(["a"] as NSArray)
    let context = try store.context(CompanyModel.make())
    let ada = try #require(try context.all("Employee").first)
    _ = ada["tags"]
    ada["tags"] = ["a"] as NSArray
    #expect(ada.changedValues().isEmpty)
    ada["tags"] = ["b"] as NSArray
    #expect(Array(ada.changedValues().keys) == ["tags"])
    try context.save()
    #expect(ada.changedValues().isEmpty)
    #expect(try ObjectArchiveReader.object(in: stored(store)) == ["b"] as NSArray)
  }

  @Test("A mutable value that is changed and set again is saved")
  func mutable() throws {
    let store = try saved(NSMutableArray(array: ["a"]))
    let context = try store.context(CompanyModel.make())
    let ada = try #require(try context.all("Employee").first)
    let list = try #require(ada["tags"] as? NSMutableArray)
    list.add("b")
    ada["tags"] = list
    try context.save()
    #expect(try ObjectArchiveReader.object(in: stored(store)) == ["a", "b"] as NSArray)
  }

  @Test("An object of a class that is not one of Foundation's plain ones, and damaged bytes, come out as data")
  func otherClasses() throws {
    let store = try saved(["a"] as NSArray)
    let locale = try NSKeyedArchiver.archivedData(
      withRootObject: NSLocale(localeIdentifier: "de"), requiringSecureCoding: true)
    for data in [locale, Data("garbage".utf8), Data()] {
      try put(data, into: store)
      let context = try store.context(CompanyModel.make())
      let ada = try #require(try context.all("Employee").first)
      #expect(ada["tags"] as? Data == data)
      #expect(!ada.hasChanges)
      try store.close()
    }
    // An array that contains itself: Foundation's decoder crashes.
    let ring =
      Data(
        base64Encoded: "YnBsaXN0MDDUAQIDBAUGBwhYJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb24=") ?? Data()
    try put(ring, into: store)
    #expect(try store.context(CompanyModel.make()).all("Employee").first?["tags"] as? Data == ring)
  }

  @Test("Swift collections are saved, also where a program is linked statically")
  func swiftCollections() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for (name, value) in [("a", ["x", "y"]), ("b", ["k": [1.5]]), ("c", Set(["z"]))] as [(String, Any)] {
      context.make("Employee", ["name": name, "tags": value])
    }
    try context.save()
    let people = try store.context(CompanyModel.make()).all("Employee")
    #expect(
      people.map { $0["tags"] as? NSObject } == [
        ["x", "y"] as NSArray, ["k": [1.5]] as NSDictionary, NSSet(array: ["z"]),
      ])
    #expect(people[0]["tags"] as? [String] == ["x", "y"])
    #expect(people[2]["tags"] as? Set<String> == ["z"])
  }

  @Test("What cannot be archived is an error that names the attribute, and no row is written")
  func unarchivable() throws {
    final class Own: NSObject {}
    struct Value {}
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    for value in [Own(), Value(), ["a": Own()]] as [Any] {
      ada["tags"] = value
      let error = try #require(throws: NSError.self) { try context.save() }
      #expect(error.code == NSCoreDataError)
      #expect(error.localizedFailureReason?.contains("'tags' of 'Employee'") == true)
    }
    #expect(try store.context(CompanyModel.make()).all("Employee").isEmpty)
  }

  /// As Foundation's archiver in a program that is linked statically.
  private final class EmptyTransformer: ValueTransformer, @unchecked Sendable {
    override func transformedValue(_ value: Any?) -> Any? { Data() }
    override func reverseTransformedValue(_ value: Any?) -> Any? { (value as? Data)?.isEmpty == false ? "x" : nil }
  }

  /// For which an empty string is no bytes.
  private final class TextTransformer: ValueTransformer, @unchecked Sendable {
    override func transformedValue(_ value: Any?) -> Any? { (value as? String).map { Data($0.utf8) } }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test("A transformer's 0 bytes are saved only where the transformer makes a value of them")
  func transformers() throws {
    let attribute = NSAttributeDescription()
    attribute.name = "text"
    attribute.attributeType = .transformableAttributeType
    let name = "Transformer \(UUID().uuidString)"
    attribute.valueTransformerName = name
    ValueTransformer.setValueTransformer(EmptyTransformer(), forName: .init(name))
    #expect(throws: NSError.self) { try TransformableValues.encode("x" as NSString, of: attribute) }
    ValueTransformer.setValueTransformer(TextTransformer(), forName: .init(name))
    #expect(try TransformableValues.encode("" as NSString, of: attribute)?.isEmpty == true)
    #expect(TransformableValues.decode(Data("y".utf8), of: attribute) == "y" as NSString)
    ValueTransformer.setValueTransformer(nil, forName: .init(name))
  }
}

/// An app's own class, as a transformable attribute holds it.
final class PaintColor: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let red: Double
  let layers: Int
  let isOpaque: Bool
  let bytes: Data
  let price: NSDecimalNumber
  let shades: [PaintColor]

  init(_ name: String, shades: [PaintColor] = []) {
    self.name = name
    (red, layers, isOpaque, bytes, price) = (0.25, 3, true, Data([1, 2, 3]), NSDecimalNumber(string: "12.50"))
    self.shades = shades
  }

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = name as String
    red = coder.decodeDouble(forKey: "red")
    layers = coder.decodeInteger(forKey: "layers")
    isOpaque = coder.decodeBool(forKey: "isOpaque")
    bytes = coder.withDecodedUnsafeBufferPointer(forKey: "bytes") { $0.map { Data($0) } ?? Data() }
    price = coder.decodeObject(of: NSDecimalNumber.self, forKey: "price") ?? .zero
    shades = coder.decodeObject(of: [NSArray.self, PaintColor.self], forKey: "shades") as? [PaintColor] ?? []
  }

  func encode(with coder: NSCoder) {
    coder.encode(name, forKey: "name")
    coder.encode(red, forKey: "red")
    coder.encode(layers, forKey: "layers")
    coder.encode(isOpaque, forKey: "isOpaque")
    [UInt8](bytes).withUnsafeBufferPointer { coder.encodeBytes($0.baseAddress, length: $0.count, forKey: "bytes") }
    coder.encode(price, forKey: "price")
    coder.encode(shades, forKey: "shades")
  }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PaintColor else { return false }
    return name == other.name && red == other.red && layers == other.layers && isOpaque == other.isOpaque
      && bytes == other.bytes && price == other.price && shades == other.shades
  }

  override var hash: Int { name.hash }
}

/// Conforms to `NSCoding` only, as older code does.
final class OldStamp: NSObject, NSCoding {
  let text: String

  init(_ text: String) { self.text = text }

  init?(coder: NSCoder) {
    guard let text = coder.decodeObject(forKey: "text") as? String else { return nil }
    self.text = text
  }

  func encode(with coder: NSCoder) { coder.encode(text, forKey: "text") }

  override func isEqual(_ object: Any?) -> Bool { (object as? OldStamp)?.text == text }
}

private final class PaintColorTransformer: NSSecureUnarchiveFromDataTransformer, @unchecked Sendable {
  override class var allowedTopLevelClasses: [AnyClass] { [PaintColor.self] }
}

/// Makes nil of every value.
private final class NilTransformer: ValueTransformer, @unchecked Sendable {
  override func transformedValue(_ value: Any?) -> Any? { nil }
}

@Suite("Transformable attributes with classes of the app")
struct TransformableClassTests {
  private static func model(_ transformer: String?) -> NSManagedObjectModel {
    let attribute = NSAttributeDescription.make("value", .transformableAttributeType)
    attribute.valueTransformerName = transformer
    var builder = ModelBuilder()
    builder.entity("Item", [attribute])
    return builder.model()
  }

  private func roundTrip(_ value: Any, _ transformer: String?) throws -> Any? {
    let store = try TemporaryStore()
    let context = try store.context(Self.model(transformer))
    context.make("Item")["value"] = value
    try context.save()
    try store.close()
    let items = try store.context(Self.model(transformer)).fetch(NSFetchRequest<NSManagedObject>(entityName: "Item"))
    return try #require(items.first)["value"]
  }

  static var color: PaintColor { PaintColor("red", shades: [PaintColor("pink"), PaintColor("crimson")]) }

  @Test("Come back as they were, by themselves and in collections", arguments: [nil, "NSKeyedUnarchiveFromData"])
  func byDefault(transformer: String?) throws {
    #expect(try roundTrip(Self.color, transformer) as? PaintColor == Self.color)
    #expect(try roundTrip([Self.color, "x"] as NSArray, transformer) as? NSArray == [Self.color, "x"] as NSArray)
    #expect(
      try roundTrip(["k": Self.color] as NSDictionary, transformer) as? NSDictionary == ["k": Self.color]
        as NSDictionary)
  }

  @Test("A secure transformer of the app takes its classes, and names any other")
  func secure() throws {
    let name = "PaintColorTransformer \(UUID().uuidString)"
    ValueTransformer.setValueTransformer(PaintColorTransformer(), forName: .init(name))
    #expect(ValueTransformer.valueTransformerNames().contains(.init(name)))
    #expect(PaintColorTransformer(forName: .init(name)) != nil)
    #expect(try roundTrip(Self.color, name) as? PaintColor == Self.color)
    let error = try #require(throws: NSError.self) { try roundTrip("a text", name) }
    #expect(error.code == NSCoreDataError && error.localizedFailureReason?.contains("'value' of 'Item'") == true)
    ValueTransformer.setValueTransformer(nil, forName: .init(name))
    #expect(ValueTransformer(forName: .init(name)) == nil)
  }

  @Test(
    "The plain secure transformer refuses them, with what to do; classes without secure coding need the insecure one")
  func refusals() throws {
    let name = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    #expect(try roundTrip(["a": 1] as NSDictionary, name) as? NSDictionary == ["a": 1] as NSDictionary)
    let error = try #require(throws: NSError.self) { try roundTrip(Self.color, name) }
    #expect(error.localizedFailureReason?.contains("allowedTopLevelClasses") == true)
    let stamp = OldStamp("s")
    let insecure = try #require(throws: NSError.self) { try roundTrip(stamp, nil) }
    #expect(insecure.localizedFailureReason?.contains("does not support secure coding") == true)
    #expect(try roundTrip(stamp, "NSKeyedUnarchiveFromData") as? OldStamp == stamp)
    #expect(try roundTrip(stamp, "NSUnarchiveFromData") as? OldStamp == stamp)
  }

  @Test("A transformer that makes nil of a value has nothing stored")
  func nothing() throws {
    let name = "NilTransformer \(UUID().uuidString)"
    ValueTransformer.setValueTransformer(NilTransformer(), forName: .init(name))
    #expect(try roundTrip([1] as NSArray, name) == nil)
    ValueTransformer.setValueTransformer(nil, forName: .init(name))
  }

  @Test("An archive of Foundation's own archiver is read, and a damaged one comes out as data")
  func foreign() throws {
    let data = try NSKeyedArchiver.archivedData(withRootObject: OldStamp("s"), requiringSecureCoding: false)
    let attribute = NSAttributeDescription.make("value", .transformableAttributeType)
    attribute.valueTransformerName = "NSKeyedUnarchiveFromData"
    #expect(TransformableValues.decode(data, of: attribute) == OldStamp("s"))
    attribute.valueTransformerName = nil
    #expect(TransformableValues.decode(data, of: attribute) == data as NSData)
    let own = try #require(try TransformableValues.encode(Self.color, of: attribute))
    #expect(TransformableValues.decode(own, of: attribute) == Self.color)
    // Each byte of the archive, changed: an object of the class or the data, and never the end of the program.
    var generator = SeededGenerator(seed: 15)
    for position in own.indices {
      var damaged = own
      damaged[position] = UInt8.random(in: 0...255, using: &generator)
      let value = TransformableValues.decode(damaged, of: attribute)
      #expect(!(value is NSNull))
    }
  }
}
