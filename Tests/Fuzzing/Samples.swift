// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation

/// Stores with the versions of their model, which inputs are created from. They are part of the repository, so that a
/// seed creates the same input everywhere. `--make-samples` created them.
struct Sample {
  /// The samples of some kinds of inputs. Each has a directory of its own, because another sample in it would change the
  /// meaning of these kinds' seeds.
  enum Group: String {
    case plain = "samples"
    /// Stores with persistent history.
    case history = "history-samples"
    /// Stores with composite attributes.
    case composite = "composite-samples"
    /// Stores whose relationships are of every kind, for repairs.
    case related = "related-samples"
    /// XML and binary stores.
    case file = "file-samples"
  }

  let name: String
  /// The directory with `Model.xcdatamodeld`, `Store.sqlite` or stores of other types, and possibly `mappings`.
  let files: [String: Data]

  static let store = "Store.sqlite"
  static let xmlStore = "Store.xml"
  static let binaryStore = "Store.binary"
  static let model = "Model.xcdatamodeld"
  static let mappings = "mappings"

  static func all(in corpus: URL, _ group: Group = .plain) throws -> [Sample] {
    let folder = corpus.appendingPathComponent(group.rawValue)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { !$0.hasPrefix(".") }
      .map { Sample(name: $0, files: try FuzzInput(contentsOf: folder.appendingPathComponent($0)).files) }
  }

  /// The files other than the store.
  var modelFiles: [String: Data] { files.filter { !$0.key.hasPrefix(Self.store) } }

  // MARK: Creating samples

  /// Creates the samples that are missing.
  static func make(in corpus: URL) throws {
    func isMissing(_ group: Group) -> Bool {
      !FileManager.default.fileExists(atPath: corpus.appendingPathComponent(group.rawValue).path)
    }
    func folder(_ group: Group) -> URL { corpus.appendingPathComponent(group.rawValue) }
    if isMissing(.plain) { try makePlain(in: folder(.plain)) }
    if isMissing(.history) { try makeHistory(in: folder(.history)) }
    if isMissing(.composite) { try makeComposite(in: folder(.composite)) }
    if isMissing(.related) { try makeRelated(in: folder(.related)) }
    if isMissing(.file) { try makeFiles(in: folder(.file)) }
  }

  private static func makePlain(in folder: URL) throws {
    var company = CompanyModel.make().document
    company.versionIdentifiers = ["1"]
    try make("company", company, try nextCompany(company), in: folder) { context in
      var filling = ModelFilling(company, .plain)
      try filling.fill(context)
    }
    try make("company-extreme", company, try nextCompany(company), in: folder) { context in
      var filling = ModelFilling(company, .extreme)
      try filling.fill(context)
    }
    var made = 0
    var seed: UInt64 = 1
    while made < 3 {
      if let prepared = try PreparedMigration(seed: seed, rows: 8),
        prepared.expected.objects.count == prepared.before.objects.count
      {
        made += 1
        try write("generated-\(made)", store: prepared.store.url, prepared.old, prepared.new, mapping: nil, in: folder)
      }
      seed += 1
    }
    try makeMapped(in: folder)
  }

  static func nextCompany(_ old: ModelDocument) throws -> ModelDocument {
    var next = old
    next.versionIdentifiers = ["2"]
    for position in next.entities.indices {
      switch next.entities[position].name {
      case "Employee":
        for index in next.entities[position].attributes.indices {
          switch next.entities[position].attributes[index].name {
          case "badge":
            next.entities[position].attributes[index].name = "number"
            next.entities[position].attributes[index].renamingIdentifier = "badge"
          case "age": next.entities[position].attributes[index].isOptional = true
          default: break
          }
        }
        next.entities[position].attributes.append(AttributeDocument(name: "nickname", kind: .string, isOptional: true))
      case "Project":
        next.entities[position].attributes.append(AttributeDocument(name: "budget", kind: .decimal, isOptional: true))
      default: break
      }
    }
    try next.validate()
    return next
  }

  /// Creates a sample whose second version needs a mapping model.
  private static func makeMapped(in folder: URL) throws {
    func model(_ isSecond: Bool) throws -> ModelDocument {
      var builder = ModelBuilder()
      builder.entity(
        "Note",
        [
          .make("title", .stringAttributeType), .make(isSecond ? "size" : "length", .integer32AttributeType),
          .make("data", .binaryDataAttributeType, external: true),
        ])
      builder.entity("Tag", [.make("name", .stringAttributeType)])
      builder.relate(.init("Note", "tags", toMany: true), .init("Tag", "notes", toMany: true))
      builder.relate(.init("Note", "parent"), .init("Note", "children", toMany: true))
      return builder.model().document
    }
    let (old, new) = (try model(false), try model(true))
    let (oldHashes, newHashes) = (VersionHashes(old).entities, VersionHashes(new).entities)
    func mapping(
      _ entity: String, _ attributes: [(String, String)], _ relationships: [String]
    ) throws -> EntityMappingDocument {
      var mapping = EntityMappingDocument(
        name: "\(entity)To\(entity)", kind: .transform, sourceEntityName: entity, destinationEntityName: entity)
      mapping.sourceEntityVersionHash = oldHashes[entity]
      mapping.destinationEntityVersionHash = newHashes[entity]
      mapping.sourceExpression = MappingExpressions.sourceObjects(entity: entity)
      mapping.attributeMappings = try attributes.map {
        PropertyMappingDocument(name: $0.0, valueExpression: try PredicateParser.parseExpression($0.1))
      }
      mapping.relationshipMappings = relationships.map { name in
        let target = name == "tags" ? "TagToTag" : "NoteToNote"
        return PropertyMappingDocument(
          name: name,
          valueExpression: MappingExpressions.destinationObjects(
            mapping: target, of: MappingExpressions.sourceValue(name)))
      }
      return mapping
    }
    let document = MappingDocument(entityMappings: [
      try mapping(
        "Note", [("title", "$source.title"), ("size", "$source.length * 2"), ("data", "$source.data")],
        ["tags", "parent", "children"]),
      try mapping("Tag", [("name", "$source.name")], ["notes"]),
    ])
    try make("mapped", old, new, mapping: document, in: folder) { context in
      let tags = (1...3).map { context.make("Tag", ["name": "tag \($0)"]) }
      var last: NSManagedObject?
      for number in 1...8 {
        let note = context.make(
          "Note",
          ["title": "note \(number)", "length": number, "data": Data(repeating: UInt8(number), count: number * 10)])
        note.setValue(NSSet(array: Array(tags.prefix(number % 4))), forKey: "tags")
        if let last { note.setValue(last, forKey: "parent") }
        last = note
      }
      try context.save()
    }
  }

  static func make(
    _ name: String, _ old: ModelDocument, _ new: ModelDocument, mapping: MappingDocument? = nil, in folder: URL,
    options: [AnyHashable: Any]? = nil, _ fill: (NSManagedObjectContext) throws -> Void
  ) throws {
    let place = try TemporaryStore()
    try fill(try place.context(ModelFilling.lenient(old), options: options))
    try place.close()
    try write(name, store: place.url, old, new, mapping: mapping, in: folder)
  }

  /// Writes a sample, with small pages so that the store is small.
  private static func write(
    _ name: String, store: URL, _ old: ModelDocument, _ new: ModelDocument, mapping: MappingDocument?, in folder: URL
  ) throws {
    let target = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    let raw = try RawStore(store)
    try raw.run("PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM")
    raw.close()
    try Data(contentsOf: store).write(to: target.appendingPathComponent(Self.store))
    try ModelBundle.writeSource(
      [("V1", old), ("V2", new)], current: "V2", to: target.appendingPathComponent(Self.model))
    guard let mapping else { return }
    let mappings = target.appendingPathComponent(Self.mappings)
    try FileManager.default.createDirectory(at: mappings, withIntermediateDirectories: true)
    try mapping.writeCompiled(to: mappings.appendingPathComponent("V1 to V2.cdm"))
  }
}
