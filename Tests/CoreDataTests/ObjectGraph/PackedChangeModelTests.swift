// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Compares objects whose rows stay packed while attributes change with those whose rows are decoded before.
@Suite("Random changes of attributes, with packed and with decoded rows")
struct PackedChangeModelTests {
  /// One of the two stores, with a context.
  private final class Side {
    let store: TemporaryStore
    let model = CompanyModel.make()
    let decodes: Bool
    var context: NSManagedObjectContext
    var objects: [NSManagedObject] = []

    init(decodes: Bool) throws {
      store = try TemporaryStore()
      self.decodes = decodes
      context = try store.context(model)
      for number in 0..<6 {
        objects.append(
          context.make(
            number == 5 ? "Manager" : "Employee",
            ["name": "n\(number)", "age": number, "salary": NSDecimalNumber(value: 1.5), "tags": ["a"] as NSArray]))
      }
      objects[2].setValue(objects[5], forKey: "manager")
      objects[3].setValue(NSSet(array: [objects[0], objects[1]]), forKey: "friends")
      try context.save()
    }

    /// Decodes all rows, unless they are to stay packed.
    func settle() {
      if decodes { for object in objects where !object.isFault { _ = object.slots } }
    }

    /// Reads all objects, in a context that knows none of them if it is another one.
    func begin(anew: Bool, undoes: Bool) throws {
      if anew {
        let coordinator = context.persistentStoreCoordinator
        context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        context.undoManager = undoes ? UndoManager() : nil
      }
      let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
      request.returnsObjectsAsFaults = false
      objects = try context.fetch(request).sorted { $0.key.number < $1.key.number }
    }

    /// Another context changes an attribute of the same row, and saves.
    func changeElsewhere(_ position: Int, _ key: String, _ value: Any?) throws {
      let other = NSManagedObjectContext(.privateQueue)
      other.persistentStoreCoordinator = context.persistentStoreCoordinator
      other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try other.performAndWait {
        other.object(with: objects[position].objectID).setValue(value, forKey: key)
        try other.save()
      }
    }

    /// What can be told without decoding rows.
    func states() -> [String] {
      objects.map { object in
        "\(object.isFault) \(object.changes.rawValue) \(object.hasPersistentChangedValues) "
          + "\(Array(object.changedStoredSlots()))"
      }
    }

    /// All that an object says of its values.
    func values(_ position: Int) -> [String] {
      let object = objects[position]
      let current = object.entity.propertiesByName.keys.sorted().map { "\($0)=\(text(object.value(forKey: $0)))" }
      return [object.changedValues(), object.changedValuesForCurrentEvent(), object.committedValues(forKeys: nil)].map {
        "\($0.sorted { $0.key < $1.key }.map { "\($0)=\(text($1))" })"
      } + current
    }

    func text(_ value: Any?) -> String { StoreDump.words(of: value) { "\($0.key.number)" } }

    /// All rows, with their versions.
    func rows() throws -> [String] {
      let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
      return try sqlite.state().connection.rows("SELECT * FROM ZEMPLOYEE ORDER BY Z_PK").map { "\($0.values)" }
    }
  }

  private static let keys = [
    "name", "age", "badge", "steps", "isActive", "rating", "height", "salary", "hired", "photo", "scan", "site", "tags",
    "mood",
  ]

  /// A value of an attribute; often one that is there already.
  private static func value(_ key: String, _ random: inout SeededGenerator) -> Any? {
    let number = Int.random(in: 0..<4, using: &random)
    if key != "name", key != "isActive", Int.random(in: 0..<5, using: &random) == 0 { return nil }
    return switch key {
    case "name": ["n0", "n1", "e\u{301}", "\u{e9}", String(repeating: "long ", count: 99)][number]
    case "mood": "mood \(number)"
    case "isActive": number > 1
    case "rating": [0.5, -0.0, Double.nan, 0.5][number]
    case "height": Float(number)
    case "salary": NSDecimalNumber(value: Double(number) + 0.5)
    case "hired": Date(timeIntervalSinceReferenceDate: Double(number))
    case "photo", "scan": Data(repeating: UInt8(number), count: number == 3 ? 200_000 : 3)
    case "site": URL(string: "https://example.org/\(number)")
    case "tags": Array(["a", "\(number)", "b"].prefix(number)) as NSArray
    default: number
    }
  }

  @Test("Both give the same objects and the same rows", arguments: 1...24)
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let undoes = seed % 4 == 0
    let sides = try [false, true].map { try Side(decodes: $0) }
    func onBoth(_ body: (Side) throws -> Void) rethrows {
      for side in sides {
        try body(side)
        side.settle()
      }
    }
    var log: [String] = []
    try onBoth { try $0.begin(anew: true, undoes: undoes) }
    for _ in 0..<120 {
      let position = Int.random(in: 0..<6, using: &random)
      let key = try #require(Self.keys.randomElement(using: &random))
      let step = Int.random(in: 0..<30, using: &random)
      log.append("\(step) \(position) \(key)")
      switch step {
      case 0..<12:
        let value = Self.value(key, &random)
        onBoth { $0.objects[position].setValue(value, forKey: key) }
      case 12:
        let value = Self.value(key, &random)
        onBoth { $0.objects[position].setPrimitiveValue(value, forKey: key) }
      case 13: onBoth { $0.context.processPendingChanges() }
      case 14: onBoth { $0.context.rollback() }
      case 15, 16:
        onBoth { $0.context.refresh($0.objects[position], mergeChanges: step == 15) }
      case 17:
        onBoth { if $0.context.undoManager?.canUndo == true { $0.context.undo() } }
      case 18:
        onBoth { if $0.context.undoManager?.canRedo == true { $0.context.redo() } }
      case 19: onBoth { $0.objects[position].setValue($0.objects[5], forKey: "manager") }
      case 20: onBoth { $0.objects[position].mutableSetValue(forKey: "friends").add($0.objects[1]) }
      case 21, 22:
        let policy = [
          NSMergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
        ][Int.random(in: 0..<5, using: &random)]
        let value = Self.value(key, &random)
        if key != "mood" { try onBoth { try $0.changeElsewhere(position, key, value) } }
        onBoth { $0.context.mergePolicy = policy }
      case 23:
        let anew = Bool.random(using: &random)
        if anew { try onBoth { try $0.begin(anew: true, undoes: undoes) } }
      case 24:
        onBoth { $0.context.reset() }
        try onBoth { try $0.begin(anew: false, undoes: undoes) }
      default:
        let codes = sides.map { $0.context.saveCode() }
        #expect(codes[0] == codes[1], "\(log)")
        onBoth { if codes[0] != 0 { $0.context.rollback() } }
        let rows = try sides.map { try $0.rows() }
        #expect(rows[0] == rows[1], "\(log)")
        if rows[0] != rows[1] { return }
      }
      let states = sides.map { $0.states() }
      #expect(states[0] == states[1], "\(log)")
      let one = sides.map { $0.text($0.objects[position].value(forKey: key)) }
      #expect(one[0] == one[1], "\(log)")
      if Int.random(in: 0..<6, using: &random) == 0 {
        let all = sides.map { $0.values(position) }
        #expect(all[0] == all[1], "\(log)")
        if all[0] != all[1] { return }
      }
      if states[0] != states[1] || one[0] != one[1] { return }
    }
  }

  @Test("Decoding the row, and reading a relationship, are no changes of the event")
  func events() throws {
    let side = try Side(decodes: false)
    try side.begin(anew: true, undoes: false)
    let object = side.objects[3]
    object.setValue("changed", forKey: "name")
    side.context.processPendingChanges()
    _ = object.slots
    #expect(object.changedValuesForCurrentEvent().isEmpty)
    #expect((object.value(forKey: "friends") as? NSSet)?.count == 2)
    #expect(object.changedValuesForCurrentEvent().isEmpty)
    #expect(Array(object.changedValues().keys) == ["name"])
    object.setValue(7, forKey: "age")
    #expect(object.changedValuesForCurrentEvent() as NSDictionary == ["age": 3])
  }

  @Test("Saving other values again and again does not make the row larger")
  func size() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Picture",
      [
        .make("name", .stringAttributeType), .make("number", .integer64AttributeType),
        .make("photo", .binaryDataAttributeType),
      ])
    let store = try TemporaryStore()
    let context = try store.context(builder.model())
    _ = context.make("Picture", ["name": "first", "photo": Data(repeating: 1, count: 50_000)])
    try context.save()
    context.reset()
    let object = try #require(try context.all("Picture").first)
    object.fireFault()
    let before = try #require(object.snapshot?.packed).size
    for number in 0..<200 {
      object["name"] = String(repeating: "\(number % 10)", count: 5)
      object["number"] = number
      try context.save()
    }
    let packed = try #require(object.snapshot?.packed)
    #expect(packed.size <= before + 64)
    #expect(packed.version == 201)
    #expect(object["name"] as? String == "99999")
    #expect(object["number"] as? Int == 199)
    #expect((object["photo"] as? Data)?.count == 50_000)
  }
}
