// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataModelFiles
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

/// The values of a store, read with SQLite's C interface and by the rules of the layout alone: by neither the store nor the
/// exporter of this project. Only the names and types of attributes come from the model that the store carries.
private struct PlainStore {
  private let connection: OpaquePointer?
  let uuid: String
  /// Entity numbers, parents and names.
  let entities: [(number: Int, name: String, parent: Int)]

  init(_ url: URL) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(url.path, &opened) == SQLITE_OK else { throw CocoaError(.fileReadUnknown) }
    connection = opened
    uuid = Self.rows("SELECT Z_UUID FROM Z_METADATA", opened).first?[0] as? String ?? ""
    let sql = "SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT"
    entities = Self.rows(sql, opened).map { row in
      (Int(row[0] as? Int64 ?? 0), row[1] as? String ?? "", Int(row[2] as? Int64 ?? 0))
    }
  }

  func close() { sqlite3_close(connection) }

  func rows(_ sql: String) -> [[Any?]] { Self.rows(sql, connection) }

  /// The name of the root entity's table.
  func table(ofEntity number: Int) -> String? {
    var entity = entities.first { $0.number == number }
    while let current = entity, current.parent != 0 { entity = entities.first { $0.number == current.parent } }
    return entity.map { "Z" + $0.name.uppercased() }
  }

  func columns(of table: String) -> [String] { rows("PRAGMA table_info(\"\(table)\")").compactMap { $0[1] as? String } }

  func number(ofEntity name: String) -> Int? { entities.first { $0.name == name }?.number }

  /// Whether rows of a table say which entity they are of.
  func isShared(_ table: String) -> Bool { columns(of: table).contains("Z_ENT") }

  /// The entities and keys of rows of an entity or its sub-entities, for keys in the order given; nil for a key without a
  /// row.
  func identifiers(_ keys: [Int64], ofEntity number: Int) -> [String?] {
    guard let table = table(ofEntity: number) else { return [] }
    return keys.map { key in
      let sql = "SELECT \(isShared(table) ? "Z_ENT" : "\(number)") FROM \"\(table)\" WHERE Z_PK = \(key)"
      guard let own = rows(sql).first?[0] as? Int64 else { return nil }
      return entities.first { $0.number == Int(own) }.map { "\($0.name)/p\(key)" }
    }
  }

  /// The members of a relationship by the columns and join tables that the layout gives it; nil where its names have
  /// numbers, which this reader does not resolve.
  func members(of relationship: RelationshipDocument, declaredBy owner: Int, key: Int64, in table: String) -> [String?]?
  {
    guard let target = relationship.destinationEntityName.flatMap(number(ofEntity:)),
      let targetTable = self.table(ofEntity: target)
    else { return nil }
    let name = relationship.name.uppercased()
    func keys(_ sql: String) -> [Int64] { rows(sql).compactMap { $0[0] as? Int64 } }
    guard relationship.isToMany else {
      let present = columns(of: table)
      guard present.contains("Z" + name), !present.contains("Z" + name + "1") else { return nil }
      return identifiers(keys("SELECT \"Z\(name)\" FROM \"\(table)\" WHERE Z_PK = \(key)"), ofEntity: target)
    }
    guard let inverse = relationship.inverseName?.uppercased() else {
      let column = "Z\(owner)\(name)"
      guard columns(of: targetTable).contains(column) else { return nil }
      return identifiers(keys("SELECT Z_PK FROM \"\(targetTable)\" WHERE \"\(column)\" = \(key)"), ofEntity: target)
    }
    let present = columns(of: targetTable)
    if present.contains("Z" + inverse) {
      guard !present.contains("Z" + inverse + "1") else { return nil }
      let order = present.contains("Z_FOK_" + inverse) ? " ORDER BY Z_FOK_\(inverse)" : ""
      return identifiers(
        keys("SELECT Z_PK FROM \"\(targetTable)\" WHERE \"Z\(inverse)\" = \(key)\(order)"), ofEntity: target)
    }
    let own = "Z_\(owner)\(inverse)"
    let other = "Z_\(target)\(name)"
    for candidate in ["Z_\(owner)\(name)", "Z_\(target)\(inverse)"] {
      let present = columns(of: candidate)
      guard own != other, present.contains(own), present.contains(other) else { continue }
      let fok = "Z_FOK_\(target)\(name)"
      let order = present.contains(fok) ? " ORDER BY \"\(fok)\"" : ""
      return identifiers(
        keys("SELECT \"\(other)\" FROM \"\(candidate)\" WHERE \"\(own)\" = \(key)\(order)"), ofEntity: target)
    }
    return nil
  }

  private static func rows(_ sql: String, _ connection: OpaquePointer?) -> [[Any?]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { return [] }
    defer { sqlite3_finalize(statement) }
    var result: [[Any?]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      result.append(
        (0..<sqlite3_column_count(statement)).map { column -> Any? in
          switch sqlite3_column_type(statement, column) {
          case SQLITE_INTEGER: return sqlite3_column_int64(statement, column)
          case SQLITE_FLOAT: return sqlite3_column_double(statement, column)
          case SQLITE_TEXT: return String(cString: sqlite3_column_text(statement, column))
          case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            return sqlite3_column_blob(statement, column).map { Data(bytes: $0, count: count) } ?? Data()
          default: return nil
          }
        })
    }
    return result
  }
}

@Suite(
  "Exported values, against SQLite's own interface",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct IndependentReadingTests {
  @Test("Every attribute of every row of every store that carries its model is exported as it stands in the file")
  func attributes() throws {
    var (values, stores, skipped) = (0, 0, 0)
    let dates = ISO8601DateFormatter()
    for url in Fixtures.stores {
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      let export = CommandRun("store", "export", copy.path, "-q")
      #expect(export.status == .done, "\(Fixtures.name(of: url)): \(export.error)")
      let store = try PlainStore(copy)
      defer { store.close() }
      guard let packed = store.rows("SELECT Z_CONTENT FROM Z_MODELCACHE").first?[0] as? Data else { continue }
      let model = try ModelCache.decode(packed)
      let index = EntityIndex(model)
      var exported: [String: [String: Any]] = [:]
      for line in try export.jsonLines { exported[line["id"] as? String ?? ""] = line["values"] as? [String: Any] }
      var count = 0
      for entity in store.entities {
        guard let table = store.table(ofEntity: entity.number) else { continue }
        guard let document = index[entity.name] else {
          // A rename in place leaves the old name in the table of entities; the row is there all the same.
          count += store.rows("SELECT Z_PK FROM \"\(table)\" WHERE Z_ENT = \(entity.number)").count
          continue
        }
        let present = store.columns(of: table)
        let isShared = store.entities.contains { $0.parent == entity.number } || entity.parent != 0
        let test = isShared ? " WHERE Z_ENT = \(entity.number)" : ""
        for row in store.rows("SELECT Z_PK FROM \"\(table)\"\(test)") {
          let key = row[0] as? Int64 ?? 0
          let line = exported["x-coredata://\(store.uuid)/\(entity.name)/p\(key)"]
          #expect(line != nil, "\(Fixtures.name(of: url)) \(entity.name) \(key)")
          count += 1
          for attribute in index.lineage(of: document.name).flatMap(\.attributes) where !attribute.isTransient {
            let column = "Z" + attribute.name.uppercased()
            // A name that sub-entities share has numbers, which this reader does not resolve.
            guard present.contains(column), !present.contains(column + "1") else {
              skipped += 1
              continue
            }
            let stored = store.rows("SELECT \"\(column)\" FROM \"\(table)\" WHERE Z_PK = \(key)").first?[0]
            let found = line?[attribute.name]
            #expect(
              isSame(found, stored, attribute.kind, dates),
              "\(Fixtures.name(of: url)) \(entity.name) \(key) \(attribute.name): \(String(describing: found)) \(String(describing: stored))"
            )
            values += 1
          }
        }
      }
      #expect(count == exported.count, "\(Fixtures.name(of: url))")
      stores += 1
    }
    print("Independent reading: \(values) values of \(stores) stores, \(skipped) not compared")
    #expect(values > 1500 && stores == 23)
  }

  @Test("Every relationship of every row of every store that carries its model is exported as it stands in the file")
  func relationships() throws {
    var (compared, members, skipped) = (0, 0, 0)
    for url in Fixtures.stores {
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      let export = CommandRun("store", "export", copy.path, "-q")
      let store = try PlainStore(copy)
      defer { store.close() }
      guard let packed = store.rows("SELECT Z_CONTENT FROM Z_MODELCACHE").first?[0] as? Data else { continue }
      let index = EntityIndex(try ModelCache.decode(packed))
      for line in try export.jsonLines {
        let values = try #require(line["values"] as? [String: Any])
        let entity = try #require(line["entity"] as? String)
        let key = try #require((line["id"] as? String)?.components(separatedBy: "/p").last.flatMap { Int64($0) })
        guard let number = store.number(ofEntity: entity), let table = store.table(ofEntity: number) else { continue }
        for document in index.lineage(of: entity) {
          for relationship in document.relationships where !relationship.isTransient {
            guard let owner = store.number(ofEntity: document.name),
              let expected = store.members(of: relationship, declaredBy: owner, key: key, in: table)
            else {
              skipped += 1
              continue
            }
            // A rename in place leaves the old name in the table of entities.
            func known(_ id: String) -> String {
              let parts = id.components(separatedBy: "/").suffix(2)
              return store.number(ofEntity: parts.first ?? "") == nil || index[parts.first ?? ""] == nil
                ? parts.last ?? "" : parts.joined(separator: "/")
            }
            let place: Comment = "\(Fixtures.name(of: url)) \(entity) \(key) \(relationship.name)"
            if relationship.isToMany {
              let found = try #require(values[relationship.name] as? [String], place).map(known)
              let wanted = expected.compactMap { $0 }.map(known)
              #expect(relationship.isOrdered ? found == wanted : found.sorted() == wanted.sorted(), place)
            } else {
              #expect((values[relationship.name] as? String).map(known) == (expected.first ?? nil).map(known), place)
            }
            compared += 1
            members += expected.count
          }
        }
      }
    }
    print("Independent reading: \(compared) relationships with \(members) members, \(skipped) not compared")
    #expect(compared > 400 && members > 500 && skipped == 0)
  }

  @Test("Every column of every row of every store without a model is exported as it stands in the file")
  func storesWithoutModels() throws {
    var (values, stores) = (0, 0)
    let dates = ISO8601DateFormatter()
    let kinds: [String: AttributeKind] = [
      "INTEGER": .integer64, "FLOAT": .double, "DECIMAL": .decimal, "VARCHAR": .string, "TIMESTAMP": .date,
      "BLOB": .binaryData,
    ]
    for url in Fixtures.stores {
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      let export = CommandRun("store", "export", copy.path, "-q")
      let store = try PlainStore(copy)
      defer { store.close() }
      guard !(store.rows("SELECT Z_CONTENT FROM Z_MODELCACHE").first?[0] is Data) else { continue }
      var count = 0
      for line in try export.jsonLines {
        let exported = try #require(line["values"] as? [String: Any])
        let entity = try #require(line["entity"] as? String)
        let key = try #require((line["id"] as? String)?.components(separatedBy: "/p").last)
        let table = try #require(store.number(ofEntity: entity).flatMap(store.table))
        for column in store.rows("PRAGMA table_info(\"\(table)\")") {
          let name = try #require(column[1] as? String)
          guard !["Z_PK", "Z_ENT", "Z_OPT"].contains(name) else { continue }
          let kind = try #require(
            kinds[column[2] as? String ?? ""], "\(table).\(name): \(String(describing: column[2]))")
          let stored = store.rows("SELECT \"\(name)\" FROM \"\(table)\" WHERE Z_PK = \(key)").first?[0]
          #expect(
            isSame(exported[name], stored, kind, dates),
            "\(Fixtures.name(of: url)) \(entity) \(key) \(name): \(String(describing: exported[name]))")
          values += 1
        }
        count += 1
      }
      let rows = store.entities.filter { $0.parent == 0 }.compactMap { entity -> Int64? in
        store.table(ofEntity: entity.number).flatMap {
          store.rows("SELECT COUNT(*) FROM \"\($0)\"").first?[0] as? Int64
        }
      }
      #expect(count == Int(rows.reduce(0, +)), "\(Fixtures.name(of: url))")
      stores += 1
    }
    print("Independent reading: \(values) columns of \(stores) stores without a model")
    #expect(values > 1000 && stores > 10)
  }

  private func isSame(_ exported: Any?, _ stored: Any?, _ kind: AttributeKind, _ dates: ISO8601DateFormatter) -> Bool {
    guard let stored else { return exported is NSNull }
    let number = (stored as? Double) ?? (stored as? Int64).map { Double($0) }
    switch kind {
    case .boolean: return (exported as? Bool).map { $0 == (stored as? Int64 != 0) } ?? false
    case .integer16, .integer32, .integer64: return (exported as? NSNumber)?.int64Value == stored as? Int64
    case .double, .float:
      // Foundation reads long numbers of JSON as decimals, whose digits are right, but not their double value.
      return (exported as? NSNumber).flatMap { Double("\($0)") } == number
    case .decimal:
      // What is no number is a text in the column.
      if let text = stored as? String { return exported as? String == text }
      return (exported as? String).flatMap { Double($0) } == number
    case .date:
      guard let text = exported as? String, let number, let dot = text.firstIndex(of: ".") else { return false }
      // The formatter knows whole seconds.
      let whole = dates.date(from: text[..<dot] + "Z")?.timeIntervalSinceReferenceDate
      let fraction = Double("0" + text[dot...].dropLast())
      return whole.flatMap { whole in fraction.map { abs(whole + $0 - number) < 0.000_001 } } ?? false
    case .string, .uri: return exported as? String == stored as? String
    case .uuid:
      let digits = (stored as? Data)?.map { byte in
        let text = String(byte, radix: 16, uppercase: true)
        return text.count == 1 ? "0" + text : text
      }.joined()
      return (exported as? String)?.replacingOccurrences(of: "-", with: "") == digits
    case .binaryData, .transformable:
      guard let data = stored as? Data, let text = exported as? String, let bytes = Data(base64Encoded: text) else {
        return false
      }
      // External storage has one byte before a value that is kept inline.
      return bytes == data || bytes == data.dropFirst()
    case .undefined, .objectID, .composite: return true
    }
  }
}
