// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// One row of a store in an export.
package struct ExportedObject: Hashable, Sendable {
  package let entity: String
  /// The primary key of the row.
  package let key: Int64
  /// The identifier: `x-coredata://UUID/Entity/pN`.
  package let id: String
  /// Values by property, sorted by name.
  package let values: [(name: String, value: ExportedValue)]

  package static func == (left: ExportedObject, right: ExportedObject) -> Bool {
    left.entity == right.entity && left.id == right.id
      && left.values.elementsEqual(right.values) { $0.name == $1.name && $0.value == $1.value }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

/// One value of an export.
package indirect enum ExportedValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  /// A decimal number with all digits, without an exponent.
  case decimal(String)
  /// A date in seconds since the start of 2001.
  case date(Double)
  case string(String)
  case binary(Data)
  /// The identifier of one object.
  case reference(String)
  /// The identifiers of several objects: in order if the relationship is ordered, otherwise sorted by entity and key.
  case references([String])
  /// The parts of a composite attribute, sorted by name.
  case composite([Part])
  /// A large string or binary value; only if the caller has requested streams.
  case stream(ExportedStream)

  /// An element of a composite attribute.
  package struct Part: Hashable, Sendable {
    package let name: String
    package let value: ExportedValue
  }
}

/// Strings are equal only if their code points are, as in stores: `é` differs from `e` with a combining accent.
extension ExportedValue {
  package static func == (left: ExportedValue, right: ExportedValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let one), .boolean(let other)): one == other
    case (.integer(let one), .integer(let other)): one == other
    case (.real(let one), .real(let other)), (.date(let one), .date(let other)): one == other
    case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
    case (.binary(let one), .binary(let other)): one == other
    case (.decimal(let one), .decimal(let other)), (.reference(let one), .reference(let other)): one == other
    case (.references(let one), .references(let other)): one == other
    case (.composite(let one), .composite(let other)): one == other
    case (.stream(let one), .stream(let other)): one == other
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(UInt8(0))
    case .boolean(let value): hasher.combine(UInt8(1), value)
    case .integer(let value): hasher.combine(UInt8(2), value)
    case .real(let value): hasher.combine(UInt8(3), value)
    case .date(let value): hasher.combine(UInt8(4), value)
    case .string(let value):
      var value = value
      hasher.combine(UInt8(5), value.utf8.count)
      value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .binary(let value): hasher.combine(UInt8(6), value)
    case .decimal(let value): hasher.combine(UInt8(7), value)
    case .reference(let value): hasher.combine(UInt8(8), value)
    case .references(let values): hasher.combine(UInt8(9), values)
    case .composite(let parts): hasher.combine(UInt8(10), parts)
    case .stream(let stream): hasher.combine(UInt8(11), stream)
    }
  }
}

extension Hasher {
  fileprivate mutating func combine(_ kind: UInt8, _ value: some Hashable) {
    combine(kind)
    combine(value)
  }
}

/// Decimal numbers as text without an exponent.
enum DecimalText {
  /// Returns the digits of a double without an exponent: `0.00001`, not `1e-05`.
  static func plain(_ value: Double) -> String {
    guard value.isFinite else { return String(value) }
    if let whole = Int64(exactly: value) { return String(whole) }
    return plain(String(value))
  }

  /// The maximum exponent of a double, plus its digits.
  private static let maxExponent = 400

  /// Returns the same number without an exponent; the text itself if it is not a number.
  static func plain(_ text: String) -> String {
    guard let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }),
      let exponent = Int(text[text.index(after: mark)...]), (-maxExponent...maxExponent).contains(exponent),
      Double(text) != nil
    else { return text }
    let isNegative = text.hasPrefix("-")
    let mantissa = text[..<mark].drop { $0 == "-" || $0 == "+" }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = parts.count > 1 ? parts[1] : ""
    var digits = String(parts[0] + fraction)
    var point = parts[0].count + exponent
    if point <= 0 {
      digits = String(repeating: "0", count: 1 - point) + digits
      point = 1
    }
    digits += String(repeating: "0", count: max(0, point - digits.count))
    let split = digits.index(digits.startIndex, offsetBy: point)
    var tail = digits[split...]
    while tail.last == "0" { tail.removeLast() }
    return (isNegative ? "-" : "") + digits[..<split] + (tail.isEmpty ? "" : "." + tail)
  }
}

/// The columns read for an entity's properties, and the way to compute each property from them.
struct ExportPlan {
  /// The way to read one property from the current row.
  struct Step {
    let name: String
    let value: (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue
  }

  private let entity: String
  /// The way to stream values of a column; nil if they are read whole.
  private let streamed: (_ column: String) throws -> StreamedColumn?
  /// The SQL expressions selected after the key.
  private(set) var expressions: [String] = []
  private(set) var steps: [Step] = []

  init(entity: String, streamed: @escaping (_ column: String) throws -> StreamedColumn?) {
    self.entity = entity
    self.streamed = streamed
  }

  mutating func sort() {
    steps.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  mutating func add(_ attribute: AttributeLayout, name: String) throws {
    let value = try reading(attribute)
    steps.append(Step(name: name) { statement, key, references in try value(statement, key, references) })
  }

  private mutating func reading(
    _ attribute: AttributeLayout
  ) throws -> (SQLiteStatement, Int64, ObjectReferences) throws -> ExportedValue {
    guard let column = attribute.column else {
      let parts = try attribute.elements.sorted { $0.name < $1.name }.map { ($0.name, try reading($0)) }
      return { statement, key, references in
        let values = try parts.map { ExportedValue.Part(name: $0.0, value: try $0.1(statement, key, references)) }
        return values.allSatisfy { $0.value == .null } ? .null : .composite(values)
      }
    }
    let kind = attribute.kind
    let value = try content(of: column, kind, isExternal: attribute.allowsExternalStorage)
    guard attribute.allowsExternalStorage else { return { statement, key, _ in try value(statement, key) } }
    let (name, entity) = (attribute.name, entity)
    return { statement, key, references in
      let stored = try value(statement, key)
      guard case .binary(let data) = stored else { return stored }
      return try references.externalValue(data, property: name, of: entity, key: key)
    }
  }

  /// Returns the way to read a column's value from the current row: streamed, if its type allows large values.
  private mutating func content(
    of column: String, _ kind: AttributeKind, isExternal: Bool = false
  ) throws -> (SQLiteStatement, Int64) throws -> ExportedValue {
    guard kind.allowsLargeValues, let values = try streamed(column) else {
      let index = position(of: SQLName.quoted(column))
      return { statement, _ in StoredValue.exported(statement.exactValue(at: index), as: kind) }
    }
    let index = position(of: StreamedColumn.expression(of: column))
    return { statement, key in
      switch try values.content(statement, index, key: key, isExternal: isExternal) {
      case .value(let value): StoredValue.exported(value, as: kind)
      case .stream(let stream): .stream(stream)
      }
    }
  }

  mutating func add(_ relationship: RelationshipLayout, name: String) {
    let destination = relationship.destinationEntity
    if case .foreignKey(let key) = relationship.storage, !relationship.isToMany {
      let index = position(of: SQLName.quoted(key.column))
      let entityIndex = key.entityColumn.map { position(of: SQLName.quoted($0)) }
      steps.append(
        Step(name: name) { statement, _, references in
          guard !statement.isNull(at: index) else { return .null }
          let number = entityIndex.flatMap { statement.isNull(at: $0) ? nil : Int(statement.int64(at: $0)) }
          return .reference(try references.reference(to: statement.int64(at: index), of: destination, number: number))
        })
    } else {
      steps.append(
        Step(name: name) { _, key, references in .references(try references.members(of: relationship, owner: key)) })
    }
  }

  /// Adds the columns of a table without a model, except housekeeping columns.
  mutating func addDeclared(_ tableColumns: [DatabaseCatalog.Column]) throws {
    let housekeeping: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    for column in tableColumns where !housekeeping.contains(column.name) && !column.name.hasPrefix("Z_FOK_") {
      let isDate = column.declaredType == "TIMESTAMP"
      let isDecimal = column.declaredType == "DECIMAL"
      let value = try content(of: column.name, isDate ? .date : isDecimal ? .decimal : .undefined)
      steps.append(Step(name: column.name) { statement, key, _ in try value(statement, key) })
    }
    sort()
  }

  private mutating func position(of expression: String) -> Int {
    if let known = expressions.firstIndex(of: expression) { return known + 1 }
    expressions.append(expression)
    return expressions.count
  }
}

extension AttributeKind {
  /// Whether values may have any size.
  fileprivate var allowsLargeValues: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean, .date, .uuid: false
    case .undefined, .string, .binaryData, .uri, .transformable, .objectID, .composite: true
    }
  }
}

/// Converts values of columns to exported values.
enum StoredValue {
  /// Converts a value. If it does not have the attribute's type, it is exported as stored, so that nothing is lost.
  static func exported(_ value: SQLiteValue, as kind: AttributeKind) -> ExportedValue {
    switch (kind, value) {
    case (_, .null): .null
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : .integer(number)
    case (.date, .integer(let number)): .date(Double(number))
    case (.date, .real(let number)): .date(number)
    case (.decimal, .integer(let number)): .decimal(String(number))
    case (.decimal, .real(let number)):
      .decimal(number.isFinite ? DecimalText.plain(DecimalConversion.text(of: number)) : String(number))
    case (.decimal, .text(let text)): .decimal(DecimalText.plain(text))
    case (.double, .integer(let number)), (.float, .integer(let number)): .real(Double(number))
    case (.uuid, .blob(let data)) where data.count == 16:
      .string(data.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString)
    // A column may contain more digits than a Float, which is the type that objects use.
    case (.float, .real(let number)): .real(Float(number).isInfinite ? number : Double(Float(number)))
    case (_, .integer(let number)): .integer(number)
    case (_, .real(let number)): .real(number)
    case (_, .text(let text)): .string(text)
    case (_, .blob(let data)): .binary(data)
    }
  }

  /// Returns the value as objects see it; nil for a value of another type, or one in an external data file.
  static func object(_ stored: SQLiteValue, as attribute: AttributeLayout) -> Any? {
    if attribute.allowsExternalStorage, case .blob(let bytes) = stored {
      return bytes.first == 1 ? Data(bytes.dropFirst()) : ExternalData.fileName(in: bytes) == nil ? bytes : nil
    }
    switch exported(stored, as: attribute.kind) {
    case .boolean(let flag): return NSNumber(value: flag)
    case .integer(let number): return NSNumber(value: number)
    case .real(let number): return NSNumber(value: number)
    case .decimal(let text): return NSDecimalNumber(string: text)
    case .date(let seconds): return Date(timeIntervalSinceReferenceDate: seconds)
    case .string(let text):
      switch attribute.kind {
      case .uuid: return UUID(uuidString: text)
      case .uri: return URL(string: text)
      default: return text
      }
    case .binary(let data): return data
    case .null, .reference, .references, .composite, .stream: return nil
    }
  }
}

/// Finds the destinations of relationships, and the values in external data files.
final class ObjectReferences {
  let reader: StoreReader
  private let prefix: String
  private let names: [Int: String]
  private let support: SupportDirectory
  /// Called for a value whose file cannot be read, which is then exported as null; nil to throw an error.
  private let didMissValue: ((StoreProblem) throws -> Void)?
  /// Whether large values are exported as streams.
  let streamsLargeValues: Bool
  /// Called with the entity of each object that has been read.
  fileprivate let didRead: ((String) -> Void)?
  /// The queries for members, by relationship.
  private var statements: [RelationshipLayout: String] = [:]

  init(
    reader: StoreReader, streamsLargeValues: Bool = false, didMissValue: ((StoreProblem) throws -> Void)? = nil,
    didRead: ((String) -> Void)? = nil
  ) {
    self.reader = reader
    self.streamsLargeValues = streamsLargeValues
    self.didMissValue = didMissValue
    self.didRead = didRead
    prefix = "x-coredata://\(reader.metadata.uuid)/"
    names = Dictionary(reader.entities.map { ($0.number, $0.name) }) { first, _ in first }
    support = SupportDirectory(store: reader.url)
  }

  func id(_ entity: String, _ key: Int64) -> String { "\(prefix)\(entity)/p\(key)" }

  /// Returns the identifier of the row that a foreign key refers to.
  ///
  /// - Parameter number: the entity number beside the key, if the store has one.
  func reference(to key: Int64, of destination: String, number: Int?) throws -> String {
    guard let layout = reader.schema?[destination], layout.hasSubentities else { return id(destination, key) }
    if let name = number.flatMap({ names[$0] }) { return id(name, key) }
    let sql = "SELECT Z_ENT FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?1"
    let found = try reader.connection.scalar(sql, [.integer(key)])?.integer
    return id(found.flatMap { names[Int($0)] } ?? destination, key)
  }

  /// Returns the identifiers of a to-many relationship's members.
  func members(of relationship: RelationshipLayout, owner: Int64) throws -> [String] {
    guard let schema = reader.schema, let destination = schema[relationship.destinationEntity] else { return [] }
    let sql = statements[relationship] ?? RelationshipPairs(of: relationship, in: schema).members(of: destination)
    statements[relationship] = sql
    return try reader.connection.cached(sql) { statement in
      try statement.bind([.integer(owner)])
      var found: [(name: String, key: Int64)] = []
      while try statement.step() {
        let name = destination.hasSubentities ? names[Int(statement.int64(at: 1))] : nil
        found.append((name ?? relationship.destinationEntity, statement.int64(at: 0)))
      }
      if !relationship.isOrdered { found.sort { ($0.name, $0.key) < ($1.name, $1.key) } }
      return found.map { id($0.name, $0.key) }
    }
  }

  /// Returns the value represented by the bytes of an attribute with external storage.
  ///
  /// - Returns: nil if the file cannot be read and `didMissValue` has been called.
  /// - Throws: `StoreProblem` if the file is missing or is not a regular file, such as a link or a device.
  func externalData(_ bytes: Data, property: String, of entity: String, key: Int64) throws -> Data? {
    if bytes.first == 1 { return Data(bytes.dropFirst()) }
    guard let name = ExternalData.fileName(in: bytes) else { return bytes }
    return try ifPresent(name, property, entity, key) { try support.read(name) }
  }

  /// Returns the value represented by the bytes of an attribute with external storage: null as for `externalData`, or a
  /// stream for a large file if large values are streamed.
  func externalValue(_ bytes: Data, property: String, of entity: String, key: Int64) throws -> ExportedValue {
    guard streamsLargeValues, let name = ExternalData.fileName(in: bytes) else {
      return try externalData(bytes, property: property, of: entity, key: key).map { .binary($0) } ?? .null
    }
    let value = try ifPresent(name, property, entity, key) { () -> ExportedValue in
      let file = try support.file(name)
      guard file.size >= ExportedStream.smallest else { return .binary(try support.read(name)) }
      return .stream(
        ExportedStream(isText: false, count: file.size) { [self] offset, buffer in
          do {
            return try file.read(at: offset, into: buffer)
          } catch {
            throw missing(name, property: property, of: entity, key: key, error)
          }
        })
    }
    return value ?? .null
  }

  /// Reads or opens an external data file; nil if that fails and `didMissValue` has been called.
  private func ifPresent<Value>(
    _ name: String, _ property: String, _ entity: String, _ key: Int64, _ body: () throws -> Value
  ) throws -> Value? {
    do {
      return try body()
    } catch {
      let problem = missing(name, property: property, of: entity, key: key, error)
      guard let didMissValue else { throw problem }
      try didMissValue(problem)
      return nil
    }
  }

  private func missing(
    _ name: String, property: String, of entity: String, key: Int64, _ error: any Error
  ) -> StoreProblem {
    let value = "\(entity).\(property) of the row \(key) in \(reader.url.lastPathComponent)"
    if let problem = error as? RegularFile.Problem {
      return StoreProblem(
        .damaged,
        "\(value) is kept in a file that is not read: \(problem) Find out where it comes from, and put the file of the "
          + "value in its place.")
    }
    let number = (error as? FileFailure)?.number ?? ENOENT
    let path = support.values.appendingPathComponent(name).path
    return StoreProblem(
      .damaged,
      "\(value) is kept in the file \(path), which "
        + (number == ENOENT ? "is missing." : "cannot be read: \(String(cString: strerror(number))).")
        + " Copy the store together with its directory \(support.url.lastPathComponent).")
  }
}

extension StoreReader {
  /// Calls a body with every object, sorted by entity and key.
  ///
  /// - Parameters:
  ///   - names: the entities to export, without their sub-entities; nil for all.
  ///   - limit: the maximum number of objects; nil for all.
  ///   - streamsLargeValues: whether strings and binary values of ``ExportedStream/smallest`` bytes or more are
  ///     streamed.
  ///   - didMissValue: called for a value whose file cannot be read, which is then null; nil to throw an error.
  ///   - didRead: called with the entity of each object, for progress.
  ///   - body: called with each object.
  /// - Throws: `StoreProblem`; the errors of `body` and `didMissValue`.
  package func forEachObject(
    of names: [String]? = nil, limit: Int? = nil, streamsLargeValues: Bool = false,
    didMissValue: ((StoreProblem) throws -> Void)? = nil, didRead: ((String) -> Void)? = nil,
    _ body: (ExportedObject) throws -> Void
  ) throws {
    var left = limit ?? Int.max
    for name in names ?? [] where !entities.contains(where: { $0.name == name }) {
      throw StoreProblem(
        .unknownEntity, "The store has no entity \(name). It has \(entityNames.joined(separator: ", ")).")
    }
    try checkTables(of: entities.filter { names?.contains($0.name) ?? true })
    // Entities requested by name can be read even from a damaged store.
    if names == nil { try checkEntityNumbers() }
    let references = ObjectReferences(
      reader: self, streamsLargeValues: streamsLargeValues, didMissValue: didMissValue, didRead: didRead)
    for entity in entities where names?.contains(entity.name) ?? true {
      guard left > 0, let cursor = try ObjectCursor(of: entity, references: references, limit: left) else { continue }
      while let object = try cursor.next() {
        try body(object)
        left -= 1
      }
    }
    try StoreProblem.translating(url, file.checkUnchanged)
  }

  /// Makes sure that all external data files referenced by rows exist and can be read.
  ///
  /// - Throws: `StoreProblem` for the first that cannot be read, with its object.
  package func checkFiles() throws {
    let support = SupportDirectory(store: url)
    let named = try explaining { try ExternalReferences.names(in: connection) }
    // If the directory cannot be read, the first file's error says so.
    let present = (try? support.names()) ?? []
    let missing = named.subtracting(present)
    guard !missing.isEmpty else { return }
    let references = ObjectReferences(reader: self)
    for entity in entities {
      guard let layout = entity.layout, let table = entity.table else { continue }
      for (name, element) in layout.attributes.sorted(by: { $0.key < $1.key }).flatMap({ name, attribute in
        attribute.filed.map { (name, $0) }
      }) {
        guard let column = element.column.map(SQLName.quoted) else { continue }
        let rows = try explaining {
          try connection.rows(
            "SELECT Z_PK, \(column) FROM \(SQLName.quoted(table)) WHERE \(entity.condition) AND typeof(\(column)) = "
              + "'blob' AND length(\(column)) = \(ExternalData.fileNameLength)")
        }
        for row in rows {
          guard let key = row[0].integer, let bytes = row[1].blob,
            ExternalData.fileName(in: bytes).map(missing.contains) ?? false
          else { continue }
          // The file may be in a backup's directory.
          _ = try references.externalData(bytes, property: name, of: entity.name, key: key)
        }
      }
    }
  }

  /// Returns the names of an entity and all its sub-entities; nil if the store has no such entity.
  package func family(of name: String) -> [String]? {
    guard entities.contains(where: { $0.name == name }) else { return nil }
    guard let layout = schema?[name] else { return [name] }
    return entities.filter { layout.numbers.contains($0.number) }.map(\.name)
  }
}

/// Reads the objects of one entity, without its sub-entities, by ascending key.
final class ObjectCursor {
  private let entity: ReadableEntity
  private let reader: StoreReader
  private let references: ObjectReferences
  private let plan: ExportPlan
  private let statement: SQLiteStatement

  /// Returns nil if the store has no table for the entity.
  ///
  /// - Throws: `StoreProblem`.
  init?(of entity: ReadableEntity, references: ObjectReferences, limit: Int = .max) throws {
    guard let table = entity.table else { return nil }
    let reader = references.reader
    let plan = try reader.explaining { try Self.plan(of: entity, table: table, references) }
    let columns = (["Z_PK"] + plan.expressions).joined(separator: ", ")
    let sql = "SELECT \(columns) FROM \(SQLName.quoted(table)) WHERE \(entity.condition) ORDER BY Z_PK LIMIT ?1"
    statement = try reader.explaining {
      let statement = try reader.connection.prepare(sql)
      try statement.bind([.integer(Int64(limit))])
      return statement
    }
    (self.entity, self.reader, self.references, self.plan) = (entity, reader, references, plan)
  }

  /// Returns the next object; nil after the last one.
  ///
  /// - Throws: `StoreProblem`; the errors of the references' `didMissValue`.
  func next() throws -> ExportedObject? {
    guard try reader.explaining({ try statement.step() }) else { return nil }
    let key = statement.int64(at: 0)
    let values = try reader.explaining {
      try plan.steps.map { step in (step.name, try step.value(statement, key, references)) }
    }
    references.didRead?(entity.name)
    return ExportedObject(entity: entity.name, key: key, id: references.id(entity.name, key), values: values)
  }

  private static func plan(
    of entity: ReadableEntity, table: String, _ references: ObjectReferences
  ) throws -> ExportPlan {
    let reader = references.reader
    var plan = ExportPlan(entity: entity.name) { column in
      references.streamsLargeValues ? try StreamedColumn(column, of: table, in: reader) : nil
    }
    guard let layout = entity.layout else {
      try plan.addDeclared(reader.catalog.table(named: table)?.columns ?? [])
      return plan
    }
    for (name, attribute) in layout.attributes { try plan.add(attribute, name: name) }
    for (name, relationship) in layout.relationships { plan.add(relationship, name: name) }
    plan.sort()
    return plan
  }
}
