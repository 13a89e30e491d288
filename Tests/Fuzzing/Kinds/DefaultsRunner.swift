// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation

/// Runs models whose attributes have default values, as SwiftData archives them: values of another type than the attribute's,
/// dictionaries for composite attributes, arrays. New objects and rows that a migration adds them to have the same values,
/// which are read back.
struct DefaultsRunner: FuzzRunner {
  private static let file = "M.mom"

  private let lab: FuzzLab
  /// The archives of models that SwiftData has made.
  private let foreign: [Data]

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    foreign = try lab.fixtures { $0.hasSuffix(".store") }.compactMap { store in
      let url = try lab.fresh().appendingPathComponent(Sample.store)
      try store.data.write(to: url)
      let raw = try RawStore(url)
      defer { raw.close() }
      return try raw.blob("SELECT Z_CONTENT FROM Z_MODELCACHE").map { try RawDeflate.decompress($0) }
    }
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let isOurs = foreign.isEmpty || !random.oneIn(4)
    var data = isOurs ? try ModelCache.archive(Self.document(&random)) : random.pick(foreign)
    if !isOurs || random.oneIn(3) { data = PropertyListMutation.damage(data, &random) }
    return FuzzInput(files: [Self.file: data], isOurs: isOurs)
  }

  private static func document(_ random: inout FuzzRandom) -> ModelDocument {
    var parent = EntityDocument(name: "Parent")
    var child = EntityDocument(name: "Child", parentName: "Parent")
    for number in 0..<(2 + random.small(8)) {
      let attribute = attribute("a\(number)", &random, depth: 2)
      if random.oneIn(3) { child.attributes.append(attribute) } else { parent.attributes.append(attribute) }
    }
    parent.relationships = [
      RelationshipDocument(name: "next", destinationEntityName: "Parent", inverseName: "last"),
      RelationshipDocument(name: "last", destinationEntityName: "Parent", inverseName: "next"),
    ]
    return ModelDocument(entities: [child, parent], versionIdentifiers: ["1.0.0"])
  }

  private static func attribute(_ name: String, _ random: inout FuzzRandom, depth: Int) -> AttributeDocument {
    var kinds = AttributeKind.allCases.filter { $0 != .objectID && $0 != .undefined }
    if depth == 0 { kinds.removeAll { $0 == .composite } }
    var attribute = AttributeDocument(name: name, kind: random.pick(kinds), isOptional: random.oneIn(3))
    if !random.oneIn(6) { attribute.defaultValue = value(for: attribute.kind, &random) }
    switch attribute.kind {
    case .composite:
      attribute.elements = (0..<random.small(3)).map { self.attribute("e\($0)", &random, depth: depth - 1) }
    case .transformable: attribute.valueTransformerName = "NSSecureUnarchiveFromData"
    case .binaryData: attribute.allowsExternalBinaryDataStorage = random.oneIn(3)
    default: break
    }
    return attribute
  }

  private static func value(for kind: AttributeKind, _ random: inout FuzzRandom) -> PlainValue {
    if random.oneIn(8) { return any(&random, depth: 3) }
    let numbers: [PlainValue] = [
      .integer(0), .integer(-1), .integer(32_768), .integer(.max), .real(0), .real(-0.0), .real(0.1), .real(1e300),
      .real(.infinity), .decimal(Decimal(string: "12345678901234567890.5") ?? 0), .boolean(true), .string("12abc"),
    ]
    switch kind {
    case .integer16, .integer32, .integer64, .double, .float, .decimal, .boolean: return random.pick(numbers)
    case .string: return random.pick([.string(""), .string("ä\u{0}b"), .string("YES"), .integer(7), .null])
    case .date: return random.pick([.date(Date(timeIntervalSinceReferenceDate: 0.25)), .real(1e10), .integer(3)])
    case .binaryData: return random.pick([.data(Data("{}".utf8)), .data(Data()), .data(Data(count: 200_000))])
    case .uuid: return random.pick([.uuid(UUID(uuidString: "00000000-0000-0000-0000-00000000000A") ?? UUID()), .null])
    case .uri: return random.pick([URL(string: "http://a/b")].compactMap { $0 }.map { .url($0) } + [.string("x y")])
    case .composite:
      return random.pick([
        .dictionary([:]), .dictionary(["e0": random.pick(numbers)]), .dictionary(["e9": .string("x")]), .null,
        .dictionary(["e0": .dictionary(["e0": .string("inner")]), "e1": .array([])]), .data(Data("{}".utf8)),
      ])
    default: return random.pick([.array([]), .array([.string("a"), .integer(1)]), .dictionary([:]), .set([.real(0)])])
    }
  }

  private static func any(_ random: inout FuzzRandom, depth: Int) -> PlainValue {
    switch random.below(depth > 0 ? 9 : 6) {
    case 0: .null
    case 1: .integer(Int64(bitPattern: random.next()))
    case 2: .real(Double(bitPattern: random.next()))
    case 3: .string(random.pick(TextMutation.values))
    case 4: .data(Data(repeating: 9, count: random.below(40)))
    case 5: .date(Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 40))))
    case 6: .array((0..<random.below(4)).map { _ in any(&random, depth: depth - 1) })
    case 7: .set([any(&random, depth: depth - 1)])
    default: .dictionary(["key": any(&random, depth: depth - 1)])
    }
  }

  // MARK: Running

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let document = try ModelCache.unarchive(input.files[Self.file] ?? Data())
    try document.validate()
    _ = try NSManagedObjectModel(document: document)
    let model = try ModelFilling.lenient(document)
    let folder = try lab.fresh()
    let results = [
      try ErrorText.publicResult("create") { try create(folder.appendingPathComponent("New.sqlite"), model, document) },
      try ErrorText.publicResult("migrate") { try migrate(folder.appendingPathComponent("Old.sqlite"), document) },
    ]
    return results.joined(separator: "; ")
  }

  /// Saves objects with nothing but their default values, and reads them with another stack.
  private func create(_ url: URL, _ model: NSManagedObjectModel, _ document: ModelDocument) throws -> String {
    let stack = try FuzzStack(url, .sqlite, model)
    for entity in model.entities where !entity.isAbstract {
      _ = NSEntityDescription.insertNewObject(forEntityName: entity.name ?? "", into: stack.context)
    }
    try stack.context.save()
    let saved = try ObjectDump(stack.context, model)
    try stack.close()
    if let difference = try ObjectDump(url, .sqlite, model).difference(from: saved) {
      throw Broken("Default values were saved and read differently: \(difference)")
    }
    let verdict = try StoreVerifier(StoreReader(url: url, model: document)).run()
    // The stack does not validate.
    let accepted: Set<StoreDefect.Kind> = [.requiredValue, .validation, .uniqueness, .count]
    if let defect = verdict.problems.first(where: { !accepted.contains($0.kind) }) {
      throw Broken("A new store has a defect: \(defect.kind) \(defect.place): \(defect.examples.map(\.text))")
    }
    return "\(saved.objects.count)"
  }

  /// Adds every second attribute to a store by a migration, and compares the rows with new objects.
  private func migrate(_ url: URL, _ document: ModelDocument) throws -> String {
    var old = document
    var added: [String: Set<String>] = [:]
    for position in old.entities.indices {
      let names = old.entities[position].attributes.enumerated().filter { $0.offset % 2 == 0 }.map(\.element.name)
      old.entities[position].attributes.removeAll { names.contains($0.name) }
      old.entities[position].uniquenessConstraints = []
      (old.entities[position].indexes, old.entities[position].compoundIndexes) = ([], [])
      old.entities[position].fetchedProperties = []
      added[old.entities[position].name] = Set(names)
    }
    old.fetchRequestTemplates = []
    do {
      try old.validate()
    } catch is ModelFileError {
      return "no earlier version"
    }
    let stack = try FuzzStack(url, .sqlite, try ModelFilling.lenient(old))
    for entity in old.entities where !entity.isAbstract {
      _ = NSEntityDescription.insertNewObject(forEntityName: entity.name, into: stack.context)
    }
    try stack.context.save()
    try stack.close()
    let model = try ModelFilling.lenient(document)
    let new = try FuzzStack(
      url, .sqlite, model,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ])
    for entity in model.entities where !entity.isAbstract {
      let name = entity.name ?? ""
      let request = NSFetchRequest<NSManagedObject>(entityName: name)
      request.includesSubentities = false
      guard let migrated = try new.context.fetch(request).first else { throw Broken("The row of \(name) is gone.") }
      let fresh = NSEntityDescription.insertNewObject(forEntityName: name, into: new.context)
      // A store does not keep every digit of a decimal number.
      try new.context.save()
      new.context.refresh(fresh, mergeChanges: false)
      for (key, attribute) in entity.attributesByName {
        guard !attribute.isTransient, !(attribute is NSDerivedAttributeDescription),
          added[(attribute.entity.name ?? "")]?.contains(key) == true
        else { continue }
        let (row, object) = (ObjectDump.text(migrated.value(forKey: key)), ObjectDump.text(fresh.value(forKey: key)))
        guard row == object else {
          throw Broken("\(name).\(key) (\(attribute.attributeType)) is \(row) in a row, and \(object) in a new object.")
        }
      }
    }
    try new.close()
    return "done"
  }
}
