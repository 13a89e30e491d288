import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation
struct RelationshipWriter {
  let database: PostgreSQLDatabase
  let entities: StoredEntities
  func write(_ changes: [RowChange]) throws {}
  func forget(_ keys: [Int64], _ layout: EntityLayout) throws {}
}
struct MemberReader {
  let database: PostgreSQLDatabase
  let entities: StoredEntities
  func members(of relationship: RelationshipLayout, primaryKey: Int64) throws -> [NSManagedObjectID] { [] }
  func members(of relationship: RelationshipLayout, primaryKeys: [Int64]) throws -> [Int64: [NSManagedObjectID]] { [:] }
}
struct SchemaMigration {
  init(_ s: SchemaInDatabase, configuration: String?) {}
  func run(through: [ModelDocument]) throws -> Bool { false }
}
extension PostgreSQLStore {
  func openHistory(_ s: OpenedSchema, _ o: StoreOptions) throws {}
  func recordHistory(_ c: [RowChange], _ s: OpenedSchema) throws {}
}
extension OpenedSchema { var history: Int? { get { nil } set {} } }
