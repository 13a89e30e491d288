// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Models beyond the numbers of tables up to which statements are executed one by one.
@Suite("Stores of large models")
struct LargeModelTests {
  /// A ring of entities, each with a relationship to the next, its inverse, and one to many of both.
  private static func ring(_ count: Int, _ attributes: (Int) -> [AttributeDocument]) -> ModelDocument {
    ModelDocument(
      entities: (0..<count).map { number in
        var entity = EntityDocument(name: "Entity\(number)")
        entity.attributes = attributes(number)
        let (next, previous) = ("Entity\((number + 1) % count)", "Entity\((number + count - 1) % count)")
        entity.relationships = [
          relationship("next", to: next, inverse: "previous"),
          relationship("previous", to: previous, inverse: "next", isToMany: true),
          relationship("friends", to: next, inverse: "admirers", isToMany: true),
          relationship("admirers", to: previous, inverse: "friends", isToMany: true),
        ]
        return entity
      })
  }

  private static func relationship(
    _ name: String, to destination: String, inverse: String, isToMany: Bool = false
  ) -> RelationshipDocument {
    RelationshipDocument(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: isToMany)
  }

  private static func attribute(_ name: String, _ kind: AttributeKind = .string) -> AttributeDocument {
    AttributeDocument(name: name, kind: kind)
  }

  @Test("A large new store has the tables and indexes of a small one, in their order, and is sound")
  func creation() throws {
    let store = try TemporaryStore()
    let document = Self.ring(200) { _ in [Self.attribute("name")] }
    try StoreFile.create(at: store.url, document: document)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    let found = try connection.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    let wanted = try StoreSchema(document: document).creationStatements
    #expect(found.map { $0[0].text } == wanted.map(\.name))
    #expect(found.map { $0[1].text } == wanted.map(\.sql))
    #expect(try connection.integrityCheck() == [])
    // The index of the primary key of each join table.
    let automatic = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND sql IS NULL"
    #expect(try connection.scalar(automatic) == 200)
    try connection.run("INSERT INTO ZENTITY7 (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 8, 1, 'seven')")
    #expect(throws: SQLiteError.self) { try connection.run("DELETE FROM sqlite_master") }
    #expect(try connection.catalog().tables.count == 403)
  }

  @Test("Columns that hundreds of tables get are there with the values of the others, renamed ones too")
  func columns() throws {
    let store = try TemporaryStore()
    let count = 400
    let old = Self.ring(count) { _ in [Self.attribute("name"), Self.attribute("note")] }
    let new = Self.ring(count) { number in
      var renamed = Self.attribute("remark")
      renamed.renamingIdentifier = "note"
      return [Self.attribute("name"), renamed, Self.attribute("more"), Self.attribute("size\(number)", .integer64)]
    }
    let writer = try store.context(NSManagedObjectModel(document: old))
    for number in [0, 1, 199, count - 1] {
      writer.make("Entity\(number)", ["name": "name \(number)", "note": "note \(number)"])
    }
    try writer.save()
    try store.close()
    let model = try NSManagedObjectModel(document: new)
    let context = try store.context(
      model,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    for number in [0, 1, 199, count - 1] {
      let object = try #require(
        try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Entity\(number)")).first)
      #expect(object.value(forKey: "name") as? String == "name \(number)")
      #expect(object.value(forKey: "remark") as? String == "note \(number)")
      #expect(object.value(forKey: "more") == nil)
      object.setValue(number, forKey: "size\(number)")
    }
    try context.save()
    try StoreChecks.check(store.url, model)
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let catalog = try connection.catalog()
    for number in 0..<count {
      #expect(
        catalog.table(named: "ZENTITY\(number)")?.columns.map(\.name)
          == ["Z_PK", "Z_ENT", "Z_OPT", "ZNEXT", "ZNAME", "ZREMARK", "ZSIZE\(number)", "ZMORE"])
    }
    #expect(try connection.integrityCheck() == [])
  }

  @Test("A deep hierarchy has one table, and every entity all properties and numbers")
  func depth() throws {
    let depth = 60
    let document = ModelDocument(
      entities: (0..<depth).map { number in
        var entity = EntityDocument(name: "E\(number)", parentName: number == 0 ? nil : "E\(number - 1)")
        entity.attributes = [Self.attribute("a\(number)")]
        return entity
      }.reversed())
    let schema = try StoreSchema(document: document)
    #expect(schema.tables.map(\.name) == ["ZE0"])
    for number in 0..<depth {
      let layout = try #require(schema["E\(number)"])
      #expect(layout.number == number + 1 && layout.parentNumber == number && layout.rootName == "E0")
      #expect(layout.numbers == Array(number + 1...depth))
      #expect(Set(layout.attributes.keys) == Set((0...number).map { "a\($0)" }))
    }
    #expect(schema.entities(inTable: "ZE0").count == depth)
  }
}
