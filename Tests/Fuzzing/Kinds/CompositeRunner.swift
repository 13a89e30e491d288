// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Runs stores with composite attributes: values that are set and saved are read back by another stack, and migrations keep
/// the rows.
struct CompositeRunner: FuzzRunner {
  private let maker: StoreMaker
  private let documents: [[ModelDocument]]
  private let migrations: MigrationRunner

  init(_ lab: FuzzLab) throws {
    maker = try StoreMaker(lab, .composite, fixtures: ".store")
    documents = try maker.documents()
    migrations = try MigrationRunner(lab, .composite)
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var input = maker.base(&random)
    switch random.below(4) {
    case 0: return try maker.input(.everything, &random)
    case 1: try maker.alter(&input, &random, StoreMutation.schema)
    default: try maker.alter(&input, &random, StoreMutation.cells)
    }
    return input
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    if input.isOurs, random.oneIn(3) { return try migrations.run(input, &random) }
    let rows = try maker.rowCount(input)
    let folder = try maker.lab.fresh()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    let store = folder.appendingPathComponent(Sample.store)
    var reading = StoreReading(folder)
    try reading.run(
      rows: rows.flatMap { $0.isWhole ? $0.rows : nil },
      input.isOurs ? Array(documents[input.sample].prefix(1)) : [])
    guard let document = input.isOurs ? documents[input.sample].first : try StoreRunner.ownModel(folder) else {
      return reading.summary
    }
    let model = try NSManagedObjectModel(document: document)
    let result = try ErrorText.publicResult("change") { try change(store, model, &random) }
    if let rows, rows.isWhole, let left = RowCount(store), left.rows < rows.rows {
      throw Broken("Changing composite attributes left \(left.rows) of \(rows.rows) rows.")
    }
    return reading.summary + "; " + result
  }

  /// Sets the composite attributes of some objects, saves them, and reads them with another stack.
  private func change(_ url: URL, _ model: NSManagedObjectModel, _ random: inout FuzzRandom) throws -> String {
    let options: [AnyHashable: Any] = [NSPersistentHistoryTrackingKey: true]
    let stack = try FuzzStack(url, .sqlite, model, options: options)
    var changed: [URL: String] = [:]
    for entity in model.entities where !entity.isAbstract {
      let composites = entity.properties.compactMap { $0 as? NSCompositeAttributeDescription }
        .sorted { $0.name < $1.name }
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
      request.includesSubentities = false
      request.fetchLimit = 6
      guard !composites.isEmpty else { continue }
      for object in try stack.context.fetch(request) {
        for composite in composites where random.oneIn(2) {
          object.setValue(Self.value(composite, &random), forKey: composite.name)
        }
        changed[object.objectID.uriRepresentation()] = ObjectDump.text(of: object)
      }
    }
    let count = stack.context.updatedObjects.count
    try stack.context.save()
    try stack.close()
    let again = try FuzzStack(url, .sqlite, model, options: options)
    // No URI is made from another text or from such a key, which damage has put there.
    let identifier = again.coordinator.persistentStores.first?.identifier ?? ""
    for (uri, text) in changed where UUID(uuidString: identifier) != nil {
      guard let key = Int64(uri.lastPathComponent.dropFirst()), key > 0 else { continue }
      guard let id = again.coordinator.managedObjectID(forURIRepresentation: uri) else {
        throw Broken("\(uri.lastPathComponent) was saved, and has no identifier any more.")
      }
      let found = ObjectDump.text(of: try again.context.existingObject(with: id))
      guard found == text else { throw Broken("\(text.prefix(300)) was saved, and read as \(found.prefix(300))") }
    }
    try again.close()
    return "\(min(count, 3))"
  }

  /// Returns a value of a composite attribute, of which elements may be missing; nil for no value.
  private static func value(_ composite: NSCompositeAttributeDescription, _ random: inout FuzzRandom) -> [String: Any]?
  {
    if random.oneIn(6) { return nil }
    var values: [String: Any] = [:]
    for element in composite.elements where !random.oneIn(4) {
      if let inner = element as? NSCompositeAttributeDescription {
        values[element.name] = value(inner, &random)
      } else {
        values[element.name] = plain(element.attributeType, &random)
      }
    }
    return values.isEmpty ? nil : values
  }

  private static func plain(_ type: NSAttributeType, _ random: inout FuzzRandom) -> Any? {
    let numbers: [Int64] = [0, 1, -1, 32_767, -32_768]
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return NSNumber(value: random.pick(numbers))
    case .doubleAttributeType, .floatAttributeType: return NSNumber(value: random.pick([0, -1.5, 0.25, 1e6]))
    case .decimalAttributeType: return NSDecimalNumber(string: random.pick(["0", "1.25", "-99999999.5"]))
    case .booleanAttributeType: return NSNumber(value: random.oneIn(2))
    case .stringAttributeType: return random.pick(["", "text", "'\"", "e\u{301}", "a\nb"])
    case .dateAttributeType: return Date(timeIntervalSinceReferenceDate: Double(random.below(1_000_000)))
    case .binaryDataAttributeType: return Data(repeating: 3, count: random.pick([0, 1, 300]))
    case .UUIDAttributeType: return UUID(uuidString: "00000000-0000-0000-0000-00000000000A")
    case .URIAttributeType: return URL(string: "http://example.org/a")
    default: return nil
    }
  }
}
