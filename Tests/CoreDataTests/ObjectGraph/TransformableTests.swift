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
    #expect(try TransformableValues.encode("" as NSString, of: attribute).isEmpty)
    #expect(TransformableValues.decode(Data("y".utf8), of: attribute) == "y" as NSString)
    ValueTransformer.setValueTransformer(nil, forName: .init(name))
  }
}
