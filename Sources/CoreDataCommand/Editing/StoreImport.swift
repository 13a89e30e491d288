// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// Creates and updates the objects that a file describes, in the context of a store. The caller saves all of them at
/// once.
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

  /// The destinations that a record gives a relationship.
  private struct Link {
    let line: Int
    let object: NSManagedObject
    let relationship: NSRelationshipDescription
    let ids: [String]
  }

  private let store: EditableStore
  private let entities: [String: NSEntityDescription]
  /// The entity that was named for records that name none.
  private let named: NSEntityDescription?
  /// The entity of records of the current file that name none.
  private var entity: NSEntityDescription?
  private let key: String?
  /// Called before each record.
  private let willRead: (String) throws -> Void

  private var inserted: [NSManagedObject] = []
  private var updated: [NSManagedObject] = []
  private var links: [Link] = []
  private var objects: [String: NSManagedObject] = [:]
  /// The objects of the store by the value of the key, for each entity that was looked up.
  private var known: [String: [Data: [NSManagedObjectID]]] = [:]
  private var usedKeys: [String: [Data: Int]] = [:]
  /// The lines of the objects.
  private(set) var lines = RecordLines()

  /// - Parameters:
  ///   - entity: the entity of records that name none.
  ///   - key: the attribute by which objects are updated; nil to insert all.
  ///   - willRead: called with the entity of each record. An error stops the import.
  /// - Throws: `CommandFailure` for an unknown entity.
  init(
    into store: EditableStore, entity: String?, key: String?, willRead: @escaping (String) throws -> Void
  ) throws {
    self.store = store
    self.key = key
    self.willRead = willRead
    let all = store.entities
    entities = all
    named = try entity.map { name in
      do {
        return try Self.entity(name, all)
      } catch let problem as ValueProblem {
        throw CommandFailure(.usage, "--entity: \(problem.reason).")
      }
    }
  }

  // MARK: Reading

  /// Reads all records, creates and changes their objects, and connects them.
  ///
  /// - Throws: `CommandFailure` with the line, the entity and the property.
  func run(_ input: ImportInput) throws {
    for source in input.sources {
      let file = try RecordFile(path: source.path)
      entity = named ?? source.entity.flatMap { entities[$0] }
      lines.begin(source.name)
      do {
        if try file.isJSON() {
          while let (line, members) = try file.nextObject() { try add(record(members, line)) }
        } else {
          try readCSV(file)
        }
      } catch let problem as RecordFile.Problem {
        throw Self.failure(lines.text(of: lines.number(of: problem.line), isNamed: true), problem)
      }
    }
    do {
      try connect()
      try checkLinks()
    } catch let problem as RecordFile.Problem {
      throw Self.failure(lines.text(of: problem.line, isNamed: true), problem)
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

  private func readCSV(_ file: RecordFile) throws {
    guard let (line, header) = try file.nextFields() else { return }
    let names = header.map(\.text)
    if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw RecordFile.Problem(line: line, reason: "The column \(JSONText.string(name).line()) occurs twice.")
    }
    // A property of the entity takes precedence over these columns.
    let idColumn = column("id", in: names) ?? column("objectID", in: names)
    let entityColumn = column("entity", in: names)
    guard entity != nil || entityColumn != nil else {
      throw CommandFailure(.usage, "A CSV file without a column \"entity\" needs --entity E. Nothing was imported.")
    }
    while let (line, fields) = try file.nextFields() {
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
          + (likely.map { String($0.dropLast()) } ?? "it has \(names.joined(separator: ", "))"))
    }
    guard !entity.isAbstract else {
      throw ValueProblem("the entity \(name) is abstract, and has no objects of its own")
    }
    return entity
  }

  // MARK: Objects

  private func add(_ record: Record) throws {
    let name = record.entity.name ?? ""
    try willRead(name)
    let object: NSManagedObject
    if let found = try existing(record) {
      object = found
      updated.append(found)
    } else {
      object = NSManagedObject(entity: record.entity, insertInto: store.context)
      inserted.append(object)
    }
    let line = lines.add(object, record.line)
    if let id = record.id, objects.updateValue(object, forKey: id) != nil {
      throw RecordFile.Problem(line: record.line, reason: "The identifier \(id) occurs twice in the file.")
    }
    for (path, value) in record.values {
      try problems(record.line, "\(name).\(path)") { try set(value, path, of: object, line) }
    }
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
      links.append(Link(line: line, object: object, relationship: relationship, ids: try ids(value, relationship)))
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
      if let line = usedKeys[root, default: [:]].updateValue(line, forKey: mark) {
        throw ValueProblem("\(lines.text(of: line)) has the same key")
      }
      let found = try known(record.entity, attribute)[mark] ?? []
      guard found.count <= 1 else {
        throw ValueProblem("\(found.count) objects of the store have this key, which must be unique")
      }
      return try found.first.map(store.context.existingObject)
    }
  }

  /// Returns the objects of an entity by the values of the key.
  private func known(
    _ entity: NSEntityDescription, _ attribute: NSAttributeDescription
  ) throws -> [Data: [NSManagedObjectID]] {
    let name = entity.name ?? ""
    if let found = known[name] { return found }
    let request = NSFetchRequest<NSManagedObject>(entityName: name)
    request.includesPendingChanges = false
    request.predicate = NSPredicate(format: "%K != nil", argumentArray: [attribute.name])
    request.fetchBatchSize = 1000
    var all: [Data: [NSManagedObjectID]] = [:]
    for object in try store.context.fetch(request) {
      guard let value = object.value(forKey: attribute.name) else { continue }
      all[Self.mark(value, attribute), default: []].append(object.objectID)
    }
    known[name] = all
    return all
  }

  /// Returns a value in a form that can be compared byte by byte.
  private static func mark(_ value: Any, _ attribute: NSAttributeDescription) -> Data {
    Data(NSManagedObject.exported(value, attribute).line().utf8)
  }

  // MARK: Relationships

  /// Sets the relationships, when all objects exist.
  private func connect() throws {
    for link in links {
      let place = "\(link.object.entity.name ?? "").\(link.relationship.name)"
      try problems(link.line, place) {
        let members = try link.ids.map { id in try destination(id, link.relationship) }
        if link.relationship.isToMany {
          link.object.set(members, of: link.relationship)
        } else {
          link.object.setValue(members.first, forKey: link.relationship.name)
        }
      }
    }
  }

  private func destination(_ id: String, _ relationship: NSRelationshipDescription) throws -> NSManagedObject {
    guard let object = try objects[id] ?? store.existing(id) else {
      throw ValueProblem("\(id) is neither in the file nor in \(store.address.name)")
    }
    objects[id] = object
    try relationship.check(object)
    return object
  }

  /// Makes sure that every relationship is as its line says: another line may contradict it through the inverse.
  private func checkLinks() throws {
    for link in links {
      let expected = link.ids.compactMap { objects[$0] }
      let found = link.object.members(of: link.relationship)
      let isSame = link.relationship.isOrdered ? expected == found : Set(expected) == Set(found)
      guard !isSame else { continue }
      let others = Set(expected).symmetricDifference(found).compactMap { lines.numbers[$0] }.filter { $0 != link.line }
        .sorted()
      let inverse = link.relationship.inverseRelationship
      throw RecordFile.Problem(
        line: link.line,
        reason: "\(link.object.entity.name ?? "").\(link.relationship.name) contradicts its inverse"
          + (inverse.map { ", \($0.entity.name ?? "").\($0.name)" } ?? "")
          + (others.first.map { ", in \(lines.text(of: $0))." } ?? "."))
    }
  }

  // MARK: The result

  /// Returns the numbers of objects by entity. Call it before the changes are saved.
  func counts() -> [(entity: String, count: Count)] {
    var counts: [String: Count] = [:]
    for object in inserted { counts[object.entity.name ?? "", default: Count()].inserted += 1 }
    for object in updated {
      let name = object.entity.name ?? ""
      if object.hasPersistentChangedValues {
        counts[name, default: Count()].updated += 1
      } else {
        counts[name, default: Count()].unchanged += 1
      }
    }
    return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Runs a body, and adds a line and a property to its problems.
  private func problems<Result>(
    _ line: Int, _ place: String? = nil, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let problem as ValueProblem {
      throw RecordFile.Problem(line: line, reason: "\(place.map { "\($0): " } ?? "")\(problem.reason).")
    }
  }
}
