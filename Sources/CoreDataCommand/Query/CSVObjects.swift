// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal

/// Objects as CSV: a header of property names, and a line for each object. `store import` reads it.
struct CSVObjects {
  let rows: QueryRows
  /// Whether a column names the entity of each object, so that an import makes objects of the same subentities.
  private let namesEntity: Bool

  init(_ rows: QueryRows) {
    self.rows = rows
    namesEntity =
      rows.includesSubentities && !rows.entity.subentities.isEmpty && !rows.columns.contains { $0.path == "entity" }
  }

  /// The title of the column with the identifiers of the objects. `store import` knows both.
  static func idTitle(_ columns: [QueryColumn]) -> String {
    columns.contains { $0.path == "id" } ? "objectID" : "id"
  }

  /// Writes the header and the objects.
  ///
  /// - Parameters:
  ///   - didMiss: called with the object and the column of a value that cannot be read, which is null then.
  ///   - didWrite: called with the entity of each object.
  /// - Returns: the number of objects.
  /// - Throws: the errors of the fetch, of the closures, and of writing.
  @discardableResult
  func write(
    to result: ResultWriter, didMiss: (NSManagedObjectID, String, any Error) throws -> Void,
    didWrite: (String) -> Void = { _ in }
  ) throws -> Int {
    let titles = [Self.idTitle(rows.columns)] + (namesEntity ? ["entity"] : []) + rows.columns.map(\.path)
    try result.write(source: CSVText.line(titles))
    var count = 0
    try rows.forEachPart(didMiss: didMiss) { part in
      for row in part {
        let entity = row.id.entity.name
        try result.write(
          source: CSVText.line(
            [row.id.uriRepresentation().absoluteString] + (namesEntity ? [entity] : []) + row.values.map(\.field)))
        count += 1
        didWrite(entity ?? "")
      }
    }
    return count
  }
}

extension QueryColumn {
  /// The columns from which `store import` makes the objects of an entity again: attributes, to-one relationships, and the
  /// to-many relationships that do not follow from them.
  ///
  /// - Parameter includesSubentities: whether there are objects of subentities too.
  static func stored(of entity: NSEntityDescription, includesSubentities: Bool) throws -> [QueryColumn] {
    let owners = includesSubentities ? family(of: entity) : [entity]
    let relationships = owners.flatMap(\.relationshipsByName.values).filter { !$0.isTransient }
    let members = relationships.filter { $0.isToMany && ($0.isOrdered || $0.inverseRelationship?.isToMany ?? true) }
    let names = [
      owners.flatMap(\.attributesByName.values).filter { !$0.isTransient }.map(\.name),
      relationships.filter { !$0.isToMany }.map(\.name), members.map(\.name),
    ]
    return try names.flatMap { Set($0).sorted() }.map { try QueryColumn($0, of: entity) }
  }
}
