import CoreDataModelFiles
struct SchemaMigration {
  init(_ s: SchemaInDatabase, configuration: String?) {}
  func run(through: [ModelDocument]) throws -> Bool { false }
}
