// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Accessors over ManagedProperty")
struct ManagedPropertyTests {
  enum Rank: Int16 { case low = 1, high = 2 }

  /// One entity with an attribute of each type.
  private static func model() -> NSManagedObjectModel {
    let kinds: [(String, NSAttributeType)] = [
      ("i16", .integer16AttributeType), ("i32", .integer32AttributeType), ("i64", .integer64AttributeType),
      ("flag", .booleanAttributeType), ("double", .doubleAttributeType), ("float", .floatAttributeType),
      ("decimal", .decimalAttributeType), ("text", .stringAttributeType), ("date", .dateAttributeType),
      ("data", .binaryDataAttributeType), ("uuid", .UUIDAttributeType), ("url", .URIAttributeType),
      ("list", .transformableAttributeType),
    ]
    var builder = ModelBuilder()
    builder.entity(
      "Thing",
      kinds.map { name, kind in
        let attribute = NSAttributeDescription()
        (attribute.name, attribute.attributeType) = (name, kind)
        return attribute
      })
    let entity = builder.entity("Box")
    let title = NSAttributeDescription()
    (title.name, title.attributeType) = ("title", .stringAttributeType)
    entity.properties.append(title)
    builder.relate(.init("Box", "things", toMany: true), .init("Thing", "box"))
    builder.relate(.init("Box", "row", toMany: true, ordered: true), .init("Thing", "rowBox"))
    return builder.model()
  }

  private func pair() throws -> (NSManagedObjectContext, thing: NSManagedObject, store: TemporaryStore) {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    return (context, NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context), store)
  }

  @Test("Every type reads what it has written, before and after it was saved")
  func types() throws {
    let (context, thing, store) = try pair()
    func roundTrip<Value: Equatable>(
      _ values: [Value], _ set: (Value) -> Void, _ get: () -> Value, _ place: SourceLocation = #_sourceLocation
    ) throws {
      for value in values {
        set(value)
        #expect(get() == value, sourceLocation: place)
        try context.save()
        context.refresh(thing, mergeChanges: false)
        #expect(get() == value, sourceLocation: place)
      }
    }
    let i16 = ManagedProperty<Int16>("i16"), anyI16 = ManagedProperty<Int16?>("i16")
    try roundTrip([1, -5, .max], { i16[thing] = $0 }, { i16[thing] })
    try roundTrip([nil, 7], { anyI16[thing] = $0 }, { anyI16[thing] })
    let i32 = ManagedProperty<Int32>("i32"), anyI32 = ManagedProperty<Int32?>("i32")
    try roundTrip([1, .min], { i32[thing] = $0 }, { i32[thing] })
    try roundTrip([nil, 7], { anyI32[thing] = $0 }, { anyI32[thing] })
    let i64 = ManagedProperty<Int64>("i64"), anyI64 = ManagedProperty<Int64?>("i64")
    try roundTrip([1, .min], { i64[thing] = $0 }, { i64[thing] })
    try roundTrip([nil, 7], { anyI64[thing] = $0 }, { anyI64[thing] })
    let int = ManagedProperty<Int>("i16"), anyInt = ManagedProperty<Int?>("i32")
    try roundTrip([3], { int[thing] = $0 }, { int[thing] })
    try roundTrip([nil, 7], { anyInt[thing] = $0 }, { anyInt[thing] })
    let flag = ManagedProperty<Bool>("flag"), anyFlag = ManagedProperty<Bool?>("flag")
    try roundTrip([true, false], { flag[thing] = $0 }, { flag[thing] })
    try roundTrip([nil, true], { anyFlag[thing] = $0 }, { anyFlag[thing] })
    let double = ManagedProperty<Double>("double"), anyDouble = ManagedProperty<Double?>("double")
    try roundTrip([1.5, -0.25], { double[thing] = $0 }, { double[thing] })
    try roundTrip([nil, 2], { anyDouble[thing] = $0 }, { anyDouble[thing] })
    let float = ManagedProperty<Float>("float"), anyFloat = ManagedProperty<Float?>("float")
    try roundTrip([1.5], { float[thing] = $0 }, { float[thing] })
    try roundTrip([nil, 2], { anyFloat[thing] = $0 }, { anyFloat[thing] })
    let decimal = ManagedProperty<Decimal>("decimal"), anyDecimal = ManagedProperty<Decimal?>("decimal")
    let tenth = try #require(Decimal(string: "0.1"))
    try roundTrip([tenth], { decimal[thing] = $0 }, { decimal[thing] })
    try roundTrip([nil, tenth], { anyDecimal[thing] = $0 }, { anyDecimal[thing] })
    let number = ManagedProperty<NSDecimalNumber?>("decimal")
    try roundTrip([nil, NSDecimalNumber(string: "2.25")], { number[thing] = $0 }, { number[thing] })
    let boxed = ManagedProperty<NSNumber?>("i32")
    try roundTrip([nil, 12], { boxed[thing] = $0 }, { boxed[thing] })
    let text = ManagedProperty<String>("text"), anyText = ManagedProperty<String?>("text")
    try roundTrip(["é", "e\u{301}"], { text[thing] = $0 }, { text[thing] })
    try roundTrip([nil, "a"], { anyText[thing] = $0 }, { anyText[thing] })
    let day = Date(timeIntervalSinceReferenceDate: 8.5)
    let date = ManagedProperty<Date>("date"), anyDate = ManagedProperty<Date?>("date")
    try roundTrip([day], { date[thing] = $0 }, { date[thing] })
    try roundTrip([nil, day], { anyDate[thing] = $0 }, { anyDate[thing] })
    let seconds = ManagedProperty<TimeInterval>("date")
    try roundTrip([9.25], { seconds[thing] = $0 }, { seconds[thing] })
    let data = ManagedProperty<Data>("data"), anyData = ManagedProperty<Data?>("data")
    try roundTrip([Data([1])], { data[thing] = $0 }, { data[thing] })
    try roundTrip([nil, Data([2])], { anyData[thing] = $0 }, { anyData[thing] })
    let uuid = ManagedProperty<UUID>("uuid"), anyUUID = ManagedProperty<UUID?>("uuid")
    try roundTrip([UUID()], { uuid[thing] = $0 }, { uuid[thing] })
    try roundTrip([nil, UUID()], { anyUUID[thing] = $0 }, { anyUUID[thing] })
    let place = try #require(URL(string: "https://example.org/a"))
    let url = ManagedProperty<URL>("url"), anyURL = ManagedProperty<URL?>("url")
    try roundTrip([place], { url[thing] = $0 }, { url[thing] })
    try roundTrip([nil, place], { anyURL[thing] = $0 }, { anyURL[thing] })
    let rank = ManagedProperty<Rank>("i16"), anyRank = ManagedProperty<Rank?>("i16")
    try roundTrip([.high, .low], { rank[thing] = $0 }, { rank[thing] })
    try roundTrip([nil, .high], { anyRank[thing] = $0 }, { anyRank[thing] })
    let list = ManagedProperty<[String]?>("list"), object = ManagedProperty<NSObject?>("list")
    try roundTrip([nil, ["a", "b"]], { list[thing] = $0 }, { list[thing] })
    try roundTrip([nil, NSArray(array: ["c"])], { object[thing] = $0 }, { object[thing] })
    try store.close()
  }

  @Test("Without a value, numbers are 0, Bool false, String and Data empty")
  func missing() throws {
    let (_, thing, _) = try pair()
    #expect(ManagedProperty<Int32>("i32")[thing] == 0)
    #expect(ManagedProperty<Bool>("flag")[thing] == false)
    #expect(ManagedProperty<Double>("double")[thing] == 0)
    #expect(ManagedProperty<String>("text")[thing] == "")
    #expect(ManagedProperty<Data>("data")[thing] == Data())
    #expect(ManagedProperty<Decimal>("decimal")[thing] == 0)
  }

  @Test("Relationships are read, set and changed through every form of their methods")
  func relationships() throws {
    let (context, one, _) = try pair()
    let two = context.make("Thing"), three = context.make("Thing"), box = context.make("Box")
    let toOne = ManagedProperty<NSManagedObject?>("box"), set = ManagedProperty<Set<NSManagedObject>>("things")
    let members = ManagedProperty<NSSet?>("things"), row = ManagedProperty<NSOrderedSet>("row")
    toOne[one] = box
    #expect(set[box] == [one])
    members.add(two, to: box)
    #expect(toOne[two] === box)
    members.add([three], to: box)
    members.remove(NSSet(array: [one, three]), from: box)
    #expect(members[box] == NSSet(object: two) && toOne[one] == nil)
    set[box] = [one, three]
    #expect(toOne[two] == nil && toOne[three] === box)
    row.add(NSOrderedSet(array: [one, two]), to: box)
    row.insert(three, at: 0, in: box)
    #expect(row[box].array as? [NSManagedObject] == [three, one, two])
    row.remove(at: 1, from: box)
    row.replace(at: 0, with: one, in: box)
    #expect(row[box].array as? [NSManagedObject] == [one, two])
    row.insert([three], at: NSIndexSet(index: 1), in: box)
    row.remove(at: NSIndexSet(index: 2), from: box)
    #expect(row[box].array as? [NSManagedObject] == [one, three])
    row.replace(at: NSIndexSet(index: 1), with: [two], in: box)
    row.remove(one, from: box)
    #expect(row[box].array as? [NSManagedObject] == [two])
    row[box] = NSOrderedSet(array: [three, two])
    #expect(row[box].array as? [NSManagedObject] == [three, two])
  }

  @Test("A write marks the object as changed; a primitive one does not. A primitive read fires a fault, too")
  func changes() throws {
    let (context, thing, _) = try pair()
    let text = ManagedProperty<String?>("text"), primitive = ManagedProperty<String?>("primitiveText")
    text[thing] = "a"
    try context.save()
    context.refresh(thing, mergeChanges: false)
    #expect(primitive[thing] == "a" && !thing.isFault)
    #expect(text[thing] == "a")
    primitive[thing] = "b"
    #expect(!thing.hasChanges && text[thing] == "b")
    text[thing] = "c"
    #expect(thing.isUpdated && thing.changedValues()["text"] as? String == "c")
  }

  @Test("One property serves objects of several models and entities")
  func places() throws {
    let (_, thing, _) = try pair()
    let text = ManagedProperty<String?>("text")
    var others: [(NSManagedObject, TemporaryStore)] = []
    for count in 1...4 {
      var builder = ModelBuilder()
      builder.entity(
        "Note",
        (0..<count).map { number in
          let attribute = NSAttributeDescription()
          (attribute.name, attribute.attributeType) = (
            number == count - 1 ? "text" : "a\(number)", .stringAttributeType
          )
          return attribute
        })
      let store = try TemporaryStore()
      others.append((try store.context(builder.model()).make("Note"), store))
    }
    for round in 0..<3 {
      text[thing] = "thing \(round)"
      for (number, (object, _)) in others.enumerated() { text[object] = "\(number) \(round)" }
      #expect(text[thing] == "thing \(round)")
      for (number, (object, _)) in others.enumerated() { #expect(object["text"] as? String == "\(number) \(round)") }
    }
  }

  @Test("A value of another type than the declared one, and an unknown name, stop the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      let (_, thing, _) = try ManagedPropertyTests().pair()
      thing.setValue("a", forKey: "text")
      _ = ManagedProperty<Int32>("text")[thing]
    }
    await #expect(processExitsWith: .failure) {
      let (_, thing, _) = try ManagedPropertyTests().pair()
      _ = ManagedProperty<String?>("txet")[thing]
    }
    await #expect(processExitsWith: .failure) {
      let (_, thing, _) = try ManagedPropertyTests().pair()
      thing.setValue(9, forKey: "i16")
      _ = ManagedProperty<Rank>("i16")[thing]
    }
    await #expect(processExitsWith: .failure) {
      let (_, thing, _) = try ManagedPropertyTests().pair()
      _ = ManagedProperty<Date>("date")[thing]
    }
  }
}
