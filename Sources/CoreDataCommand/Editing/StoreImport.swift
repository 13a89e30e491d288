// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// Creates and updates the objects that files describe, in the context of a store.
final class StoreImport {
  /// The numbers of objects of an entity.
  struct Count {
    var inserted = 0
    var updated = 0
    var unchanged = 0
  }

  /// A property of a record.
  private enum Value {
    case json(JSONText)
    case field(RecordFile.Field)
  }

  /// A record of the file.
  private struct Record {
    let line: Int
    let entity: NSEntityDescription
    let id: String?
    let values: [(path: String, value: Value)]
  }

  /// The objects of the lines read since the last save.
  struct Part {
    var recordCount = 0
    /// The number of objects that relationships name, which saving the part loads.
    var linkedCount = 0
    var inserted: [(record: Int, object: NSManagedObject)] = []
    var updated: [NSManagedObject] = []
    var links: [ImportedLink] = []
    var objects: [Int32: NSManagedObject] = [:]
  }

  /// Relationships of lines that contradict each other, which is reported when all lines are known.
  struct Contradiction: Error {}

  let store: EditableStore
  private let entities: [String: NSEntityDescription]
  /// The entity that was named for records that name none.
  private let named: NSEntityDescription?
  /// The entity of records of the current file that name none.
  private var entity: NSEntityDescription?
  private let key: String?
  /// Called before each record.
  private let willRead: (String) throws -> Void

  /// The number of records to save together.
  var partSize: Int
  var hasSavedPart = false
  var part = Part()
  var totals: [String: Count] = [:]
  var names = ImportedNames()
  var saved = SavedLinks()
  /// The number of the current record among all, and of the current pass over the files.
  private var record = 0
  private var pass = 1
  /// The numbers of records whose objects need objects that later lines create.
  var heldBack: Set<Int> = []
  /// Updated objects that did not change, and may do so by their relationships.
  var unchanged: Set<ObjectPlace> = []
  private var known: [String: ImportedKeys] = [:]
  private var usedKeys: [String: [ImportedKeys.Mark: Int]] = [:]
  /// The lines of the objects.
  var lines = RecordLines()

  /// The number of records to save together, if the store takes parts.
  static let defaultPartSize = 4_000
  /// The number of objects in relationships that are loaded together, if the store takes parts.
  static let maxLinkedCount = 40_000

  /// - Parameters:
  ///   - entity: the entity of records that name none.
  ///   - key: the attribute by which objects are updated; nil to insert all.
  ///   - willRead: called with the entity of each record. An error stops the import.
  /// - Throws: `CommandFailure` for an unknown entity.
  private init(
    into store: EditableStore, entity: String?, key: String?, partSize: Int,
    willRead: @escaping (String) throws -> Void
  ) throws {
    self.store = store
    self.key = key
    self.partSize = partSize
    self.willRead = willRead
    let all = store.entities
    entities = all
    named = try entity.map { name in
      do {
        return try Self.entity(name, all)
      } catch let problem as ValueProblem {
        throw CommandFailure(.usage, "--entity: \(problem.sentence)")
      }
    }
  }

  /// Imports files. The caller saves what has not been saved, and commits.
  ///
  /// Many records are saved in parts, in one transaction. If that breaks a rule, which a later line may set right, it is
  /// rolled back, and all records are saved together. So the errors do not depend on the parts.
  ///
  /// - Throws: `CommandFailure` with the line, the entity and the property.
  static func run(
    _ input: ImportInput, into store: EditableStore, entity: String?, key: String?,
    willRead: @escaping (String) throws -> Void
  ) throws -> StoreImport {
    let takesParts = store.takesParts && input.isRepeatable
    let work = try StoreImport(
      into: store, entity: entity, key: key, partSize: takesParts ? defaultPartSize : .max, willRead: willRead)
    do {
      try work.run(input)
      return work
    } catch  where work.hasSavedPart && (error is Contradiction || (error as NSError).isBrokenRule) {
      store.abandonParts()
      let whole = try StoreImport(into: store, entity: entity, key: key, partSize: .max) { _ in }
      try whole.run(input)
      return whole
    }
  }

  // MARK: Reading

  /// Reads all records, creates and changes their objects, and connects them.
  private func run(_ input: ImportInput) throws {
    try read(input)
    names.isComplete = true
    do {
      guard hasSavedPart else {
        for link in part.links { try connect(link) }
        for link in part.links where try !isKept(link) { throw try contradiction(link) }
        count()
        return
      }
      try savePart()
      while !heldBack.isEmpty {
        let count = heldBack.count
        pass += 1
        try read(input)
        try savePart()
        if heldBack.count < count { continue }
        // These objects need each other.
        pass += 1
        partSize = .max
        try read(input)
        try savePart()
      }
      try connectSaved()
      try checkSaved()
    } catch let problem as LinkProblem {
      throw Self.failure(lines.text(of: problem.line, isNamed: true), .init(line: problem.line, reason: problem.reason))
    }
  }

  /// Reads all records, or in a later pass those that were held back.
  private func read(_ input: ImportInput) throws {
    record = 0
    lines.restart()
    for source in input.sources {
      let file = try RecordFile(path: source.path)
      entity = named ?? source.entity.flatMap { entities[$0] }
      lines.begin(source.name)
      do {
        if try file.isJSON() {
          while let (line, members) = try file.nextObject() {
            record += 1
            lines.passed(line)
            if pass == 1 || heldBack.contains(record) { try add(record(members, line)) }
          }
        } else {
          try readCSV(file, source)
        }
      } catch let problem as RecordFile.Problem {
        throw Self.failure(lines.text(of: lines.number(of: problem.line), isNamed: true), problem)
      } catch let problem as LinkProblem {
        throw Self.failure(
          lines.text(of: problem.line, isNamed: true), .init(line: problem.line, reason: problem.reason))
      }
    }
  }

  private static func failure(_ place: String, _ problem: RecordFile.Problem) -> CommandFailure {
    CommandFailure(.failed, "\(place): \(problem.reason) Nothing was imported.")
  }

  private func record(_ members: [JSONText.Member], _ line: Int) throws -> Record {
    var (entity, id, values): (NSEntityDescription?, String?, [JSONText.Member]?) = (self.entity, nil, nil)
    for member in members {
      switch (member.key, member.value) {
      case ("entity", .string(let name)): entity = try problems(line) { try Self.entity(name, entities) }
      case ("id", .string(let text)): id = text
      case ("id", .null): break
      case ("values", .object(let found)): values = found
      default:
        throw RecordFile.Problem(
          line: line,
          reason: "\(JSONText.string(member.key).line()) is not expected here. Write "
            + "{\"entity\":\"…\",\"id\":\"…\",\"values\":{…}}.")
      }
    }
    guard let entity else {
      throw RecordFile.Problem(line: line, reason: "The line names no entity. Add \"entity\", or use --entity.")
    }
    return Record(line: line, entity: entity, id: id, values: (values ?? []).map { ($0.key, .json($0.value)) })
  }

  private func readCSV(_ file: RecordFile, _ source: ImportInput.Source) throws {
    guard let (line, header) = try file.nextFields() else { return }
    let names = header.map(\.text)
    if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw RecordFile.Problem(line: line, reason: "The column \(JSONText.string(name).line()) occurs twice.")
    }
    // A property of the entity takes precedence over these columns.
    let idColumn = column("id", in: names) ?? column("objectID", in: names)
    let entityColumn = column("entity", in: names)
    guard entity != nil || entityColumn != nil else {
      // The name of a file in a directory.
      if let name = source.entity { _ = try problems(line) { try Self.entity(name, entities) } }
      throw CommandFailure(
        .usage, "\(source.name) is a CSV file without a column \"entity\", and needs --entity E. Nothing was imported.")
    }
    while let (line, fields) = try file.nextFields() {
      record += 1
      lines.passed(line)
      guard pass == 1 || heldBack.contains(record) else { continue }
      guard fields.count == names.count else {
        throw RecordFile.Problem(
          line: line,
          reason: "The record has \(NumberText.counted(fields.count, "field")), and the header \(names.count).")
      }
      var entity = self.entity
      if let entityColumn, !fields[entityColumn].isMissing {
        entity = try problems(line) { try Self.entity(fields[entityColumn].text, entities) }
      }
      guard let entity else { throw RecordFile.Problem(line: line, reason: "The record names no entity.") }
      let known = entity.propertiesByName
      // In a table of several entities, those of other entities have no value in this line.
      let columns = names.indices.filter { column in
        if column == idColumn || column == entityColumn { return false }
        return !fields[column].isMissing || known[String(names[column].prefix { $0 != "." })] != nil
      }
      let values = columns.map { (path: names[$0], value: Value.field(fields[$0])) }
      let id = idColumn.flatMap { fields[$0].isMissing ? nil : fields[$0].text }
      try add(Record(line: line, entity: entity, id: id, values: values))
    }
  }

  private func column(_ name: String, in names: [String]) -> Int? {
    entity?.propertiesByName[name] != nil ? nil : names.firstIndex(of: name)
  }

  private static func entity(
    _ name: String, _ entities: [String: NSEntityDescription]
  ) throws -> NSEntityDescription {
    guard let entity = entities[name] else {
      let names = entities.keys.sorted()
      let likely = Likeness.nearest(to: name, among: names).map { "did you mean \($0)?" }
      throw ValueProblem(
        "the store has no entity \(JSONText.string(name).line()); "
          + (likely ?? "it has \(names.joined(separator: ", "))"))
    }
    guard !entity.isAbstract else {
      throw ValueProblem("the entity \(name) is abstract, and has no objects of its own")
    }
    return entity
  }

  // MARK: Objects

  private func add(_ record: Record) throws {
    let name = record.entity.name ?? ""
    if pass == 1 { try willRead(name) }
    let object: NSManagedObject
    if let found = try existing(record) {
      object = found
      part.updated.append(found)
    } else {
      object = NSManagedObject(entity: record.entity, insertInto: store.context)
      part.inserted.append((self.record, object))
    }
    heldBack.remove(self.record)
    let line = lines.add(object, record.line)
    if let id = record.id {
      guard let number = pass == 1 ? names.declare(id) : names.number(of: id) else {
        throw RecordFile.Problem(line: record.line, reason: "The identifier \(id) occurs twice in the file.")
      }
      part.objects[number] = object
    }
    for (path, value) in record.values {
      try problems(record.line, "\(name).\(path)") { try set(value, path, of: object, line) }
    }
    part.recordCount += 1
    if part.recordCount >= partSize || (partSize < .max && part.linkedCount >= Self.maxLinkedCount) { try savePart() }
  }

  private func set(_ value: Value, _ path: String, of object: NSManagedObject, _ line: Int) throws {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    // Values of derived attributes are exported, and computed again.
    if object.entity.propertiesByName[parts[0]] is NSDerivedAttributeDescription { return }
    switch try object.entity.editableProperty(parts[0]) {
    case let attribute as NSAttributeDescription:
      guard parts.count > 1 else { return try self.value(value, of: attribute).set(attribute, of: object) }
      try setElement(value, parts, attribute, of: object)
    case let relationship as NSRelationshipDescription:
      guard parts.count == 1 else { throw ValueProblem("a path cannot lead through a relationship") }
      let numbers = try ids(value, relationship).map { names.number(of: $0) }
      part.linkedCount += numbers.count
      part.links.append(ImportedLink(line: line, object: object, relationship: relationship, names: numbers))
    default: throw ValueProblem("the property is not stored")
    }
  }

  private func setElement(
    _ value: Value, _ parts: [String], _ attribute: NSAttributeDescription, of object: NSManagedObject
  ) throws {
    guard parts.count == 2, let element = attribute.element(named: parts[1]) else {
      throw ValueProblem("\(attribute.name) has no element \(parts.dropFirst().joined(separator: "."))")
    }
    let old = object.value(forKey: attribute.name) as? NSDictionary
    let dictionary = old?.mutableCopy() as? NSMutableDictionary ?? NSMutableDictionary()
    let name = element.name as NSString
    if let new = try self.value(value, of: element).element(of: element) {
      dictionary[name] = new
    } else {
      dictionary.removeObject(forKey: name)
    }
    object.setValue(dictionary.count == 0 ? nil : dictionary, forKey: attribute.name)
  }

  private func value(_ value: Value, of attribute: NSAttributeDescription) throws -> AttributeValue {
    switch value {
    case .json(let json): return try AttributeValue(json, for: attribute)
    case .field(let field) where field.isMissing: return .null
    case .field(let field) where attribute.attributeType == .compositeAttributeType:
      // What is wrong with the JSON matters less than what a field must be.
      guard let json = try? JSONText(parsing: field.text.utf8) else {
        throw ValueProblem("the elements of a composite attribute are a JSON object, or columns of their own")
      }
      return try AttributeValue(json, for: attribute)
    case .field(let field): return try ValueText.value(field.text, of: attribute)
    }
  }

  /// Returns the identifiers in the value of a relationship.
  private func ids(_ value: Value, _ relationship: NSRelationshipDescription) throws -> [String] {
    switch value {
    case .json(.null): return []
    case .json(.string(let id)) where !relationship.isToMany: return [id]
    case .json(.array(let values)) where relationship.isToMany:
      return try values.map { value in
        guard case .string(let id) = value else {
          throw ValueProblem("\(value.line()) is not the identifier of an object; an example is \"Order/p3\"")
        }
        return id
      }
    case .field(let field):
      let ids = field.text.split { $0 == " " || $0 == "," || $0 == ";" || $0 == "\n" }.map(String.init)
      guard ids.count <= 1 || relationship.isToMany else { throw ValueProblem("the relationship has one object") }
      return ids
    default:
      throw ValueProblem(
        relationship.isToMany
          ? "the objects of a relationship to many are a list of identifiers, such as [\"Order/p3\"]"
          : "the object of a relationship is an identifier, such as \"Order/p3\", or null")
    }
  }

  // MARK: Updating by a key

  /// Returns the object that a record updates; nil to insert one.
  private func existing(_ record: Record) throws -> NSManagedObject? {
    guard let key else { return nil }
    let name = record.entity.name ?? ""
    return try problems(record.line, "\(name).\(key)") { () -> NSManagedObject? in
      guard let attribute = try record.entity.editableProperty(key) as? NSAttributeDescription,
        ![.compositeAttributeType, .transformableAttributeType].contains(attribute.attributeType)
      else { throw ValueProblem("only an attribute with one value can be the key of --update-by") }
      guard let given = record.values.first(where: { $0.path == key })?.value,
        let object = try value(given, of: attribute).element(of: attribute)
      else { throw ValueProblem("the record has no value for the key of --update-by") }
      let mark = Self.mark(object, attribute)
      let root = sequence(first: record.entity) { $0.superentity }.reduce(record.entity) { $1 }.name ?? ""
      let line = lines.number(of: record.line)
      if let other = usedKeys[root, default: [:]].updateValue(line, forKey: mark), other != line {
        throw ValueProblem("\(lines.text(of: other)) has the same key")
      }
      let found = try known(record.entity, attribute)
      guard found.count(mark) <= 1 else {
        throw ValueProblem("\(found.count(mark)) objects of the store have this key, which must be unique")
      }
      return try found.object(mark).map { place in
        try store.context.existingObject(with: self.object(place).objectID)
      }
    }
  }

  /// Returns the objects of an entity by the values of the key.
  private func known(_ entity: NSEntityDescription, _ attribute: NSAttributeDescription) throws -> ImportedKeys {
    let name = entity.name ?? ""
    if let found = known[name] { return found }
    let request = NSFetchRequest<NSManagedObjectID>(entityName: name)
    request.resultType = .managedObjectIDResultType
    request.predicate = try NSPredicate.checked(format: "%K != nil", argumentArray: [attribute.name])
    var all = ImportedKeys()
    try store.forEach(request) { object in
      guard let value = object.value(forKey: attribute.name) else { return }
      all.add(names.place(of: object.objectID), Self.mark(value, attribute))
    }
    known[name] = all
    return all
  }

  private static func mark(_ value: Any, _ attribute: NSAttributeDescription) -> ImportedKeys.Mark {
    ImportedKeys.Mark(NSManagedObject.exported(value, attribute).line())
  }

  // MARK: The result

  /// Whether the store is changed.
  var hasChanges: Bool {
    hasSavedPart ? totals.values.contains { $0.inserted + $0.updated > 0 } : store.hasChanges
  }

  /// The numbers of objects by entity.
  var counts: [(entity: String, count: Count)] { totals.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

  /// Counts the objects in memory, before they are saved.
  func count() {
    for (_, object) in part.inserted { totals[object.entity.name ?? "", default: Count()].inserted += 1 }
    for object in part.updated {
      let name = object.entity.name ?? ""
      if object.hasPersistentChangedValues {
        totals[name, default: Count()].updated += 1
      } else {
        totals[name, default: Count()].unchanged += 1
      }
    }
  }

  /// Runs a body, and adds a line and a property to its problems.
  private func problems<Result>(
    _ line: Int, _ place: String? = nil, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let problem as ValueProblem {
      throw RecordFile.Problem(line: line, reason: "\(place.map { "\($0): " } ?? "")\(problem.sentence)")
    }
  }
}
