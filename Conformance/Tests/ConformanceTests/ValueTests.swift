// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// Stores a text with its characters in reverse order.
final class ReversingTransformer: ValueTransformer, @unchecked Sendable {
  static let name = NSValueTransformerName("ConformanceReversing")

  override class func allowsReverseTransformation() -> Bool { true }
  override class func transformedValueClass() -> AnyClass { NSData.self }

  override func transformedValue(_ value: Any?) -> Any? {
    (value as? String).map { Data(String($0.reversed()).utf8) }
  }

  override func reverseTransformedValue(_ value: Any?) -> Any? {
    (value as? Data).map { String(String(decoding: $0, as: UTF8.self).reversed()) }
  }
}

@Suite("Values of attributes")
struct ValueTests {
  /// Saves a value and reads it from the store.
  private func stored(
    _ value: Any?, as type: NSAttributeType, change: (NSAttributeDescription) -> Void = { _ in }
  ) throws -> Any? {
    let description = attribute("value", type)
    change(description)
    let stack = try Stack(model(entity("Item", [description])))
    return try stack.run { context in
      context.insert("Item").setValue(value, forKey: "value")
      try context.save()
      context.reset()
      return try context.all("Item").first?.value(forKey: "value")
    }
  }

  @Test("Integers are read as they were saved, at both ends of their types")
  func integers() throws {
    #expect(try stored(Int16.min, as: .integer16AttributeType) as? Int == Int(Int16.min))
    #expect(try stored(Int32.max, as: .integer32AttributeType) as? Int == Int(Int32.max))
    #expect(try stored(Int64.min, as: .integer64AttributeType) as? Int64 == Int64.min)
    #expect(try stored(true, as: .booleanAttributeType) as? Bool == true)
  }

  @Test("Numbers with fractions are read as they were saved")
  func fractions() throws {
    #expect(try stored(0.1, as: .doubleAttributeType) as? Double == 0.1)
    #expect(try stored(Float(1.5), as: .floatAttributeType) as? Float == 1.5)
    let decimal = NSDecimalNumber(string: "12345.678")
    #expect(try stored(decimal, as: .decimalAttributeType) as? NSDecimalNumber == decimal)
  }

  @Test("Texts, data, dates, UUIDs and URLs are read as they were saved")
  func others() throws {
    #expect(try stored("a\u{301} 🌍\nß", as: .stringAttributeType) as? String == "a\u{301} 🌍\nß")
    #expect(try stored(Data([0, 1, 255]), as: .binaryDataAttributeType) as? Data == Data([0, 1, 255]))
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
    #expect(try stored(date, as: .dateAttributeType) as? Date == date)
    let uuid = UUID()
    #expect(try stored(uuid, as: .UUIDAttributeType) as? UUID == uuid)
    let url = try #require(URL(string: "https://example.com/a?b=c"))
    #expect(try stored(url, as: .URIAttributeType) as? URL == url)
    #expect(try stored(nil, as: .stringAttributeType) == nil)
  }

  @Test("Data with external storage are read as they were saved, small or large", arguments: [10, 2_000_000])
  func external(size: Int) throws {
    let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let read = try stored(data, as: .binaryDataAttributeType) { $0.allowsExternalBinaryDataStorage = true }
    #expect(read as? Data == data)
  }

  @Test("A transformable attribute keeps what its transformer makes of a value, and gives the value back")
  func transformer() throws {
    ValueTransformer.setValueTransformer(ReversingTransformer(), forName: ReversingTransformer.name)
    let read = try stored("stored", as: .transformableAttributeType) {
      $0.valueTransformerName = ReversingTransformer.name.rawValue
    }
    #expect(read as? String == "stored")
  }

  @Test("A transformable attribute with the secure transformer keeps collections of plain values")
  func secure() throws {
    let value: NSArray = ["a", 1, Date(timeIntervalSinceReferenceDate: 5)]
    let read = try stored(value, as: .transformableAttributeType) {
      $0.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    }
    #expect(read as? NSArray == value)
  }

  @Test("A new object has the default values of its attributes")
  func defaults() throws {
    let item = entity(
      "Item",
      [attribute("text", default: "x"), attribute("count", .integer16AttributeType, default: 4), attribute("none")])
    let stack = try Stack(model(item))
    stack.run { context in
      let object = context.insert("Item")
      #expect(object.text("text") == "x")
      #expect(object.number("count") == 4)
      #expect(object.value(forKey: "none") == nil)
    }
  }

  @Test("A transient attribute has its value in the object and not in the store")
  func transient() throws {
    let note = attribute("note")
    note.isTransient = true
    let stack = try Stack(model(entity("Item", [attribute("name"), note])))
    try stack.run { context in
      let object = context.insert("Item", ["name": "n", "note": "x"])
      try context.save()
      #expect(object.text("note") == "x")
      context.reset()
      let read = try #require(try context.all("Item").first)
      #expect(read.text("name") == "n")
      #expect(read.value(forKey: "note") == nil)
    }
  }

  @Test("A derived attribute has its value after the save")
  func derived() throws {
    let author = entity("Author", [attribute("name")])
    let book = entity("Book")
    connect(author, relationship("books", toMany: true), book, relationship("author"))
    let folded = NSDerivedAttributeDescription()
    folded.name = "folded"
    folded.attributeType = .stringAttributeType
    folded.derivationExpression = NSExpression(format: "canonical:(name)", argumentArray: [])
    let count = NSDerivedAttributeDescription()
    count.name = "bookCount"
    count.attributeType = .integer64AttributeType
    count.derivationExpression = NSExpression(format: "books.@count", argumentArray: [])
    author.properties += [folded, count]
    let stack = try Stack(model(author, book))
    try stack.run { context in
      let object = context.insert("Author", ["name": "Émile"])
      for _ in 0..<2 { context.insert("Book", ["author": object]) }
      try context.save()
      context.refresh(object, mergeChanges: false)
      #expect(object.text("folded") == "emile")
      #expect(object.number("bookCount") == 2)
    }
  }

  @Test("A composite attribute is a dictionary of its elements")
  func composite() throws {
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.elements = [attribute("street"), attribute("number", .integer32AttributeType)]
    let stack = try Stack(model(entity("Item", [place])))
    try stack.run { context in
      context.insert("Item", ["place": ["street": "Main", "number": 7] as [String: Any]])
      try context.save()
      context.reset()
      let read = try #require(try context.all("Item").first?.value(forKey: "place") as? [String: Any])
      #expect(read["street"] as? String == "Main")
      #expect(read["number"] as? Int == 7)
      #expect(try context.all("Item", where: predicate("place.street == 'Main'")).count == 1)
    }
  }

  @Test("A fetched property is what its request finds for the object")
  func fetchedProperty() throws {
    let request = NSFetchRequest<NSFetchRequestResult>()
    let property = NSFetchedPropertyDescription()
    property.name = "namesakes"
    let item = entity("Item", [attribute("name"), property])
    request.entity = item
    request.predicate = NSPredicate(format: "name == $FETCH_SOURCE.name", argumentArray: [])
    property.fetchRequest = request
    let stack = try Stack(model(item))
    try stack.run { context in
      let items = ["a", "b", "a"].map { context.insert("Item", ["name": $0]) }
      try context.save()
      #expect((items[0].value(forKey: "namesakes") as? [NSManagedObject]).map(Set.init) == [items[0], items[2]])
    }
  }
}
