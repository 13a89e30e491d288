// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataAnalysis

/// Every pair of numeric types with the values at their edges: a migration in place, one by a mapping model in SQL and one by
/// objects give the same values, and objects, predicates and exports read the same values.
@Suite("Numbers of one type become numbers of another")
struct NumberMatrixTests {
  private enum Kind: String, CaseIterable {
    case int16, int32, int64, decimal, double, float, boolean

    var type: NSAttributeType {
      switch self {
      case .int16: .integer16AttributeType
      case .int32: .integer32AttributeType
      case .int64: .integer64AttributeType
      case .decimal: .decimalAttributeType
      case .double: .doubleAttributeType
      case .float: .floatAttributeType
      case .boolean: .booleanAttributeType
      }
    }

    /// A value of the type as a text that says all of it.
    func text(_ value: Any?) -> String {
      guard let number = value as? NSNumber else { return "none" }
      return switch self {
      case .int16, .int32, .int64: "\(number.int64Value)"
      case .decimal: "\(number.decimalValue)"
      case .double: "\(number.doubleValue)"
      case .float: "\(number.floatValue)"
      case .boolean: number.boolValue ? "1" : "0"
      }
    }
  }

  /// A value, and the texts of what it becomes in the order Integer 16, 32, 64, Decimal, Double, Float, Boolean; `-` for a value
  /// that the type cannot hold.
  private struct Case {
    let kind: Kind
    let value: Any
    let becomes: [String]

    init(_ kind: Kind, _ value: Any, _ becomes: String) {
      (self.kind, self.value) = (kind, value)
      self.becomes = becomes.split(separator: " ").map(String.init)
    }

    func text(_ kind: Kind) -> String { becomes[Kind.allCases.firstIndex(of: kind) ?? 0] }
  }

  private static func decimal(_ text: String) -> NSDecimalNumber { NSDecimalNumber(string: text) }

  private let cases: [Case] = [
    Case(.int16, -32768, "-32768 -32768 -32768 -32768 -32768.0 -32768.0 1"),
    Case(.int16, 0, "0 0 0 0 0.0 0.0 0"),
    Case(.int32, 2_147_483_647, "- 2147483647 2147483647 2147483647 2147483647.0 2.1474836e+09 1"),
    Case(.int32, 16_777_217, "- 16777217 16777217 16777217 16777217.0 16777216.0 1"),
    Case(.int32, -5, "-5 -5 -5 -5 -5.0 -5.0 1"),
    Case(.int64, 7, "7 7 7 7 7.0 7.0 1"),
    Case(
      .int64, Int64(9_007_199_254_740_993),
      "- - 9007199254740993 9007199254740993 9007199254740992.0 9.007199e+15 1"),
    Case(
      .int64, Int64(123_456_789_012_345_678),
      "- - 123456789012345678 123456789012345678 1.2345678901234568e+17 1.2345679e+17 1"),
    Case(.int64, Int64.max, "- - 9223372036854775807 9223372036854775807 9.223372036854776e+18 9.223372e+18 1"),
    Case(.int64, Int64.min, "- - -9223372036854775808 -9223372036854775808 -9.223372036854776e+18 -9.223372e+18 1"),
    Case(.decimal, Self.decimal("0"), "0 0 0 0 0.0 0.0 0"),
    Case(.decimal, Self.decimal("19.99"), "19 19 19 19.99 19.99 19.99 1"),
    Case(.decimal, Self.decimal("4.35"), "4 4 4 4.35 4.35 4.35 1"),
    Case(.decimal, Self.decimal("0.07"), "0 0 0 0.07 0.07 0.07 1"),
    Case(.decimal, Self.decimal("-0.5"), "0 0 0 -0.5 -0.5 -0.5 1"),
    Case(.decimal, Self.decimal("32767.9"), "32767 32767 32767 32767.9 32767.9 32767.9 1"),
    Case(.decimal, Self.decimal("-32768.9"), "-32768 -32768 -32768 -32768.9 -32768.9 -32768.9 1"),
    Case(.decimal, Self.decimal("32768"), "- 32768 32768 32768 32768.0 32768.0 1"),
    Case(
      .decimal, Self.decimal("9007199254740993"),
      "- - 9007199254740993 9007199254740993 9007199254740992.0 9.007199e+15 1"),
    Case(
      .decimal, Self.decimal("123456789012345.67"),
      "- - 123456789012345 123456789012345.67 123456789012345.67 1.2345679e+14 1"),
    Case(.decimal, Self.decimal("1e40"), "- - - 10000000000000000000000000000000000000000 1e+40 - 1"),
    Case(.decimal, Self.decimal("1e-30"), "0 0 0 0.000000000000000000000000000001 1e-30 1e-30 1"),
    Case(.decimal, NSDecimalNumber.notANumber, "- - - NaN - - -"),
    Case(.double, 0.0, "0 0 0 0 0.0 0.0 0"),
    Case(.double, 19.99, "19 19 19 19.99 19.99 19.99 1"),
    Case(.double, 0.1, "0 0 0 0.1 0.1 0.1 1"),
    Case(.double, -1.9, "-1 -1 -1 -1.9 -1.9 -1.9 1"),
    Case(.double, 0.30000000000000004, "0 0 0 0.30000000000000004 0.30000000000000004 0.3 1"),
    Case(
      .double, 123456789012345.67, "- - 123456789012345 123456789012345.67 123456789012345.67 1.2345679e+14 1"),
    Case(.double, 987654321012345.6, "- - 987654321012345 987654321012345.6 987654321012345.6 9.876543e+14 1"),
    // What Foundation makes of the decimal 49.1855, and of 0.07.
    Case(.double, 49.185500000000005, "49 49 49 49.1855 49.185500000000005 49.1855 1"),
    Case(.double, 0.06999999999999999, "0 0 0 0.07 0.06999999999999999 0.07 1"),
    Case(.double, 16_777_217.0, "- 16777217 16777217 16777217 16777217.0 16777216.0 1"),
    Case(.double, 32767.9, "32767 32767 32767 32767.9 32767.9 32767.9 1"),
    Case(.double, 1e18, "- - 1000000000000000000 1000000000000000000 1e+18 1e+18 1"),
    Case(
      .double, 1.2345678901234568e18,
      "- - 1234567890123456768 1234567890123456768 1.2345678901234568e+18 1.234568e+18 1"),
    Case(.double, 9.3e18, "- - - 9300000000000000000 9.3e+18 9.3e+18 1"),
    Case(.double, 3.5e38, "- - - 350000000000000000000000000000000000000 3.5e+38 - 1"),
    Case(.double, 1e300, "- - - - 1e+300 - 1"),
    Case(.double, 1e-300, "0 0 0 0 1e-300 0.0 1"),
    Case(.double, Double.infinity, "- - - - inf inf 1"),
    Case(.float, Float(0.1), "0 0 0 0.10000000149011612 0.10000000149011612 0.1 1"),
    Case(.float, Float(243.61), "243 243 243 243.61000061035156 243.61000061035156 243.61 1"),
    Case(.float, Float(-2.5), "-2 -2 -2 -2.5 -2.5 -2.5 1"),
    Case(
      .float, Float.greatestFiniteMagnitude,
      "- - - 340282346638528860000000000000000000000 3.4028234663852886e+38 3.4028235e+38 1"),
    Case(.boolean, true, "1 1 1 1 1.0 1.0 1"),
    Case(.boolean, false, "0 0 0 0 0.0 0.0 0"),
  ]

  private static func name(_ from: Kind, _ to: Kind) -> String { "\(from)To\(to.rawValue.capitalized)" }

  private static let pairs = Kind.allCases.flatMap { from in Kind.allCases.map { (from: from, to: $0) } }

  /// The model before or after the change of all types.
  private static func model(_ pairs: [(from: Kind, to: Kind)], isNew: Bool) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("N", pairs.map { .make(name($0.from, $0.to), isNew ? $0.to.type : $0.from.type) })
    return builder.model()
  }

  private static func mapping(_ pairs: [(from: Kind, to: Kind)]) -> NSMappingModel {
    let entity = NSEntityMapping()
    (entity.name, entity.mappingType) = ("NToN", .transformEntityMappingType)
    (entity.sourceEntityName, entity.destinationEntityName) = ("N", "N")
    entity.sourceExpression = CoreData.NSExpression(
      format: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'N', 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)")
    entity.attributeMappings = pairs.map { pair in
      let property = NSPropertyMapping()
      property.name = name(pair.from, pair.to)
      property.valueExpression = CoreData.NSExpression(format: "$source.\(name(pair.from, pair.to))")
      return property
    }
    let mapping = NSMappingModel()
    mapping.entityMappings = [entity]
    return mapping
  }

  private static var options: [String: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.mappings: [URL](), MigrationOption.models: [URL](),
    ]
  }

  private func open<Result>(
    _ url: URL, _ model: NSManagedObjectModel, _ type: String = NSSQLiteStoreType, migrates: Bool = false,
    _ body: (NSManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: url,
      options: migrates ? Self.options : nil)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let result = try body(context)
    try coordinator.remove(store)
    return result
  }

  /// Makes a store whose rows have the cases, each in the attributes of its type whose new type can hold it.
  private func fill(_ url: URL, _ model: NSManagedObjectModel, _ type: String = NSSQLiteStoreType) throws {
    try open(url, model, type) { context in
      for item in cases {
        let object = context.make("N")
        for pair in Self.pairs where pair.from == item.kind && item.text(pair.to) != "-" {
          object.setValue(item.value, forKey: Self.name(pair.from, pair.to))
        }
        try context.save()
      }
    }
  }

  private func migrate(_ source: URL, to target: URL, _ pairs: [(from: Kind, to: Kind)], usesSQL: Bool) throws {
    let manager = NSMigrationManager(
      sourceModel: Self.model(pairs, isNew: false), destinationModel: Self.model(pairs, isNew: true))
    manager.usesStoreSpecificMigrationManager = usesSQL
    try manager.migrateStore(from: source, type: .sqlite, mapping: Self.mapping(pairs), to: target, type: .sqlite)
    #expect(manager.executions.allSatisfy { ($0.rows == .sql) == usesSQL }, "\(manager.executions)")
  }

  private func checkObjects(_ context: NSManagedObjectContext, _ way: String, checksPredicates: Bool = true) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "N")
    let objects = try context.fetch(request).sorted { number($0) < number($1) }
    #expect(objects.count == cases.count)
    for (item, object) in zip(cases, objects) {
      for pair in Self.pairs where pair.from == item.kind && item.text(pair.to) != "-" {
        let name = Self.name(pair.from, pair.to)
        let value = object.value(forKey: name)
        #expect(pair.to.text(value) == item.text(pair.to), "\(way): \(name) of \(item.value)")
        guard checksPredicates, item.text(pair.to) != "NaN", let value = value as? NSNumber else { continue }
        request.predicate = NSPredicate(format: "%K == %@", name, value)
        #expect(try context.fetch(request).contains(object), "\(way): \(name) == \(value)")
      }
    }
  }

  private func number(_ object: NSManagedObject) -> Int {
    Int(object.objectID.uriRepresentation().lastPathComponent.dropFirst()) ?? 0
  }

  private func checkExport(_ url: URL, _ model: NSManagedObjectModel, _ way: String) throws {
    let reader = try StoreReader(url: url, model: model.document)
    var rows: [Int64: [(name: String, value: ExportedValue)]] = [:]
    try reader.forEachObject(of: ["N"]) { object in rows[object.key] = object.values.map { ($0.name, $0.value) } }
    for (position, item) in cases.enumerated() {
      for pair in Self.pairs where pair.from == item.kind && item.text(pair.to) != "-" {
        let name = Self.name(pair.from, pair.to)
        let text =
          switch rows[Int64(position + 1)]?.first(where: { $0.name == name })?.value {
          case .boolean(let value)?: value ? "1" : "0"
          case .integer(let value)?: "\(value)"
          case .real(let value)?: pair.to == .float && Double(Float(value)) == value ? "\(Float(value))" : "\(value)"
          case .decimal(let text)?: text
          default: "none"
          }
        #expect(text == item.text(pair.to), "\(way), exported: \(name) of \(item.value)")
      }
    }
  }

  @Test("All ways of migrating a store agree, and so do all ways of reading it")
  func values() throws {
    let store = try TemporaryStore()
    // XML and binary stores do not carry their model.
    let bundle = store.folder.appendingPathComponent("N.momd")
    let models = [false, true].map { Self.model(Self.pairs, isNew: $0) }
    try ModelBundle.writeCompiled(
      [("N", models[0].document), ("N 2", models[1].document)], current: "N 2", to: bundle)
    let old = try NSManagedObjectModel.load(contentsOf: bundle, version: "N")
    let new = try NSManagedObjectModel.load(contentsOf: bundle, version: "N 2")
    try fill(store.url, old)
    let places = [true, false].map { store.folder.appendingPathComponent($0 ? "SQL.sqlite" : "Objects.sqlite") }
    try migrate(store.url, to: places[0], Self.pairs, usesSQL: true)
    try migrate(store.url, to: places[1], Self.pairs, usesSQL: false)
    try open(store.url, new, migrates: true) { try checkObjects($0, "in place") }
    try checkExport(store.url, new, "in place")
    for (way, place) in zip(["by SQL", "by objects"], places) {
      try open(place, new) { try checkObjects($0, way) }
      try checkExport(place, new, way)
    }
    for type in [NSXMLStoreType, NSBinaryStoreType] {
      let file = store.folder.appendingPathComponent(type)
      try fill(file, old, type)
      try open(file, new, type, migrates: true) { try checkObjects($0, type) }
    }
  }

  @Test("A value that the new type cannot hold is refused by all ways of migrating, and the store stays as it was")
  func refused() throws {
    for item in cases {
      for pair in Self.pairs where pair.from == item.kind && item.text(pair.to) == "-" {
        let store = try TemporaryStore()
        let (old, new) = (Self.model([pair], isNew: false), Self.model([pair], isNew: true))
        let name = Self.name(pair.from, pair.to)
        try open(store.url, old) { context in
          context.make("N").setValue(item.value, forKey: name)
          try context.save()
        }
        let target = store.folder.appendingPathComponent("Target.sqlite")
        #expect(throws: NSError.self, "in place: \(name) of \(item.value)") {
          try open(store.url, new, migrates: true) { _ in }
        }
        for usesSQL in [true, false] {
          #expect(throws: NSError.self, "SQL \(usesSQL): \(name) of \(item.value)") {
            try migrate(store.url, to: target, [pair], usesSQL: usesSQL)
          }
        }
        try open(store.url, old) { context in
          let object = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "N")).first
          #expect(pair.from.text(object?.value(forKey: name)) == item.text(item.kind), "\(name)")
        }
      }
    }
  }

  @Test("Sums and averages of decimals are exact, in a query and in a derived attribute that a migration adds")
  func totals() throws {
    func model(_ derived: [(name: String, key: String)]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      let attributes = derived.map { NSAttributeDescription.derived($0.name, .decimalAttributeType, $0.key) }
      builder.entity("Order", [.make("name", .stringAttributeType)] + attributes)
      builder.entity("Line", [.make("price", .decimalAttributeType)])
      builder.relate(.init("Order", "lines", toMany: true), .init("Line", "order"))
      return builder.model()
    }
    let store = try TemporaryStore()
    let texts = [["0.1", "0.2"], ["12345678901234.56", "0.01", "1"], []]
    try open(store.url, model([])) { context in
      for (position, prices) in texts.enumerated() {
        let order = context.make("Order", ["name": "\(position)"])
        for price in prices { context.make("Line", ["price": Self.decimal(price), "order": order]) }
      }
      try context.save()
    }
    let new = model([("total", "lines.@sum.price"), ("mean", "lines.@avg.price")])
    try open(store.url, new, migrates: true) { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Order")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let orders = try context.fetch(request)
      #expect(orders.map { Kind.decimal.text($0.value(forKey: "total")) } == ["0.3", "12345678901235.57", "0"])
      #expect(orders.map { Kind.decimal.text($0.value(forKey: "mean")) } == ["0.15", "4115226300411.8564", "none"])
      request.predicate = NSPredicate(format: "lines.@sum.price == %@", Self.decimal("12345678901235.57"))
      #expect(try context.fetch(request) == [orders[1]])
    }
  }

  @Test("An element of a composite attribute that the new type cannot hold is refused by all ways of migrating")
  func composite() throws {
    func model(_ type: NSAttributeType) -> NSManagedObjectModel {
      let place = NSCompositeAttributeDescription()
      place.name = "place"
      place.elements = [.make("number", type), .make("street", .stringAttributeType)]
      var builder = ModelBuilder()
      builder.entity("N", [place])
      return builder.model()
    }
    let (old, new) = (model(.integer64AttributeType), model(.integer16AttributeType))
    let store = try TemporaryStore()
    try open(store.url, old) { context in
      context.make("N", ["place": ["number": 70_000, "street": "Main"]])
      try context.save()
    }
    #expect(throws: NSError.self) { try open(store.url, new, migrates: true) { _ in } }
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    for usesSQL in [true, false] {
      let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
      manager.usesStoreSpecificMigrationManager = usesSQL
      let target = store.folder.appendingPathComponent("Target.sqlite")
      #expect(throws: NSError.self, "SQL \(usesSQL)") {
        try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
      }
    }
  }
}
