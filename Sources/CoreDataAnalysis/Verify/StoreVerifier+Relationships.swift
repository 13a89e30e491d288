// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

extension StoreVerifier {
  /// Checks the relationships of one entity's rows, including inherited ones.
  func relationshipDefects(of entity: ReadableEntity, _ layout: EntityLayout) throws -> [StoreDefect] {
    guard let schema = reader.schema else { return [] }
    let documents = Dictionary(relationshipDocuments(of: entity.name).map { ($0.name, $0) }) { first, _ in first }
    var defects: [StoreDefect?] = []
    for (name, relationship) in layout.relationships.sorted(by: { $0.key < $1.key }) {
      guard let destination = schema[relationship.destinationEntity], let document = documents[name] else { continue }
      if case .foreignKey(let key) = relationship.storage, !relationship.isToMany {
        defects.append(try danglingKeys(of: entity, layout, document, key, destination))
        defects.append(try wrongEntities(of: entity, layout, name, key, destination))
        defects.append(try entityKeys(of: entity, layout, name, key, destination))
        defects.append(try disagreement(of: entity, layout, relationship, key, destination))
      }
      if relationship.isToMany {
        defects.append(try memberCounts(of: entity, layout, relationship, document, schema))
        if relationship.isOrdered {
          defects.append(try orderKeys(of: entity, layout, relationship, schema))
        }
      }
    }
    return defects.compactMap { $0 }
  }

  /// Returns SQL that finds the row of a destination, aliased `d`, by its key.
  private static func match(_ destination: EntityLayout, key: String, in schema: StoreSchema?) -> String {
    let sharers = schema?.entities(inTable: destination.table).count ?? 1
    // Z_ENT is ignored if a table contains rows of one entity only.
    let numbers = destination.numbers.map(String.init).joined(separator: ", ")
    return "d.Z_PK = \(key)" + (sharers > 1 ? " AND d.Z_ENT IN (\(numbers))" : "")
  }

  /// Finds foreign keys of rows that do not exist. A row that exists with a wrong entity is not included: its number
  /// may be what is damaged, so the key stays.
  private func danglingKeys(
    of entity: ReadableEntity, _ layout: EntityLayout, _ document: RelationshipDocument, _ key: ForeignKeyLayout,
    _ destination: EntityLayout
  ) throws -> StoreDefect? {
    let (table, column) = (SQLName.quoted(layout.table), SQLName.quoted(key.column))
    let isDangling =
      "\(Self.condition(of: entity)) AND o.\(column) IS NOT NULL "
      + "AND NOT EXISTS (SELECT 1 FROM \(SQLName.quoted(destination.table)) d WHERE d.Z_PK = o.\(column))"
    let columns = [key.column, key.entityColumn, key.orderColumn].compactMap { $0 }
    let assignments = columns.map { "\(SQLName.quoted($0)) = NULL" } + [Self.nextVersion]
    return try defect(
      .danglingKey, entity: entity.name, property: document.name,
      rows: "SELECT o.Z_PK, o.\(column) FROM \(table) o WHERE \(isDangling)",
      repair: document.isOptional
        ? ["UPDATE \(table) AS o SET \(assignments.joined(separator: ", ")) WHERE \(isDangling)"] : [],
      cure: document.isOptional
        ? "The relationship is optional: it gets no value."
        : "The relationship is required. Set it in the app, or delete the objects."
    ) {
      "The row \($0[0].shortLiteral) leads to the row \($0[1].shortLiteral) of \(destination.name), which does not exist."
    }
  }

  /// Finds foreign keys of rows whose entity cannot be the relationship's destination.
  private func wrongEntities(
    of entity: ReadableEntity, _ layout: EntityLayout, _ name: String, _ key: ForeignKeyLayout,
    _ destination: EntityLayout
  ) throws -> StoreDefect? {
    let (table, column) = (SQLName.quoted(layout.table), SQLName.quoted(key.column))
    let row = Self.match(destination, key: "o.\(column)", in: reader.schema)
    return try defect(
      .wrongEntity, entity: entity.name, property: name,
      rows: "SELECT o.Z_PK, o.\(column), w.Z_ENT FROM \(table) o "
        + "JOIN \(SQLName.quoted(destination.table)) w ON w.Z_PK = o.\(column) WHERE \(Self.condition(of: entity)) "
        + "AND NOT EXISTS (SELECT 1 FROM \(SQLName.quoted(destination.table)) d WHERE \(row))",
      cure: "Either the key is wrong, or the entity number of the row that it leads to. Correct that one."
    ) {
      "The row \($0[0].shortLiteral) leads to the row \($0[1].shortLiteral) of \(destination.table), whose entity number "
        + "\($0[2].shortLiteral) is not one of \(destination.name)."
    }
  }

  /// Finds entity numbers beside foreign keys that differ from those of the referenced rows.
  private func entityKeys(
    of entity: ReadableEntity, _ layout: EntityLayout, _ name: String, _ key: ForeignKeyLayout,
    _ destination: EntityLayout
  ) throws -> StoreDefect? {
    guard let entityColumn = key.entityColumn else { return nil }
    let (table, column) = (SQLName.quoted(layout.table), SQLName.quoted(key.column))
    let number = "o.\(SQLName.quoted(entityColumn))"
    let row =
      "FROM \(SQLName.quoted(destination.table)) d WHERE "
      + Self.match(destination, key: "o.\(column)", in: reader.schema)
    // Rows older than the destination's sub-entities have no number; the relationship's own destination is used then.
    let isWrong =
      "\(Self.condition(of: entity)) AND o.\(column) IS NOT NULL "
      + "AND IFNULL((SELECT d.Z_ENT \(row)), \(number)) IS NOT IFNULL(\(number), \(destination.number))"
    // A number that the relationship allows may be right, and that of the row damaged.
    let possible = destination.numbers.map(String.init).joined(separator: ", ")
    let isGuess =
      try connection.scalar(
        "SELECT 1 FROM \(table) o WHERE \(isWrong) AND IFNULL(\(number) IN (\(possible)), 1) LIMIT 1") != nil
    return try defect(
      .entityKey, entity: entity.name, property: name,
      rows: "SELECT o.Z_PK, \(number), o.\(column) FROM \(table) o WHERE \(isWrong)",
      repair: isGuess
        ? [] : ["UPDATE \(table) AS o SET \(SQLName.quoted(entityColumn)) = (SELECT d.Z_ENT \(row)) WHERE \(isWrong)"],
      cure: isGuess
        ? "Either the number is wrong, or that of the row that the key leads to. Correct that one."
        : "The number is taken from the row that the key leads to."
    ) {
      "The row \($0[0].shortLiteral) leads to the row \($0[2].shortLiteral) of \(destination.table) as one of entity number "
        + "\($0[1].shortLiteral), which it is not."
    }
  }

  /// Finds one-to-one relationships whose two columns disagree.
  private func disagreement(
    of entity: ReadableEntity, _ layout: EntityLayout, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout,
    _ destination: EntityLayout
  ) throws -> StoreDefect? {
    guard let inverseName = relationship.inverseName, let inverse = destination.relationships[inverseName],
      !inverse.isToMany, case .foreignKey(let back) = inverse.storage
    else { return nil }
    let (column, backColumn) = (SQLName.quoted(key.column), SQLName.quoted(back.column))
    let row = Self.match(destination, key: "o.\(column)", in: reader.schema)
    let found = try defect(
      .inverse, entity: entity.name, property: relationship.name,
      rows: "SELECT o.Z_PK, o.\(column), d.\(backColumn) FROM \(SQLName.quoted(layout.table)) o "
        + "JOIN \(SQLName.quoted(destination.table)) d ON \(row) "
        + "WHERE \(Self.condition(of: entity)) AND d.\(backColumn) IS NOT o.Z_PK",
      cure: "Which side is right cannot be determined. Set the relationship of these objects in the app."
    ) { row in
      let back = row[2].isNull ? "leads nowhere" : "leads back to the row \(row[2].shortLiteral)"
      return "The row \(row[0].shortLiteral) leads to the row \(row[1].shortLiteral) of \(destination.name), whose "
        + "\(inverseName) \(back)."
    }
    guard let found else { return nil }
    // Damage would not leave a column without any value.
    let isSet = "SELECT 1 FROM \(SQLName.quoted(destination.table)) WHERE \(backColumn) IS NOT NULL LIMIT 1"
    guard try connection.scalar(isSet) == nil else { return found }
    let rows = found.count == 1 ? "1 row leads" : "\(found.count) rows lead"
    return StoreDefect(
      .oneSidedInverse, entity: entity.name, property: relationship.name, count: 1,
      examples: [
        .init(
          key: nil,
          text: "\(rows) to \(destination.name), and no row there leads back by \(inverseName): the app sets one side "
            + "only.")
      ], cure: "Nothing needs to be done. Read the side that has values.")
  }

  private func memberCounts(
    of entity: ReadableEntity, _ layout: EntityLayout, _ relationship: RelationshipLayout,
    _ document: RelationshipDocument, _ schema: StoreSchema
  ) throws -> StoreDefect? {
    // A required relationship without a minimum may be empty: SwiftData saves such objects.
    let minimum = document.minCount
    guard minimum > 0 || document.maxCount > 0 else { return nil }
    let pairs = RelationshipPairs(of: relationship, in: schema).queries(fromOwner: true)
    let members = "IFNULL(c.N, 0)"
    var conditions: [String] = []
    if minimum > 0 { conditions.append("\(members) < \(minimum)") }
    if document.maxCount > 0 { conditions.append("\(members) > \(document.maxCount)") }
    // An optional relationship may be empty, whatever its minimum.
    let isCounted = document.isOptional ? "\(members) > 0 AND " : ""
    return try defect(
      .count, entity: entity.name, property: relationship.name,
      rows: "SELECT o.Z_PK, \(members) FROM \(SQLName.quoted(layout.table)) o "
        + "LEFT JOIN (SELECT OWNER, COUNT(DISTINCT MEMBER) AS N FROM (\(pairs.joined(separator: " UNION ALL "))) "
        + "GROUP BY OWNER) c ON c.OWNER = o.Z_PK "
        + "WHERE \(Self.condition(of: entity)) AND \(isCounted)(\(conditions.joined(separator: " OR ")))",
      cure: "Such objects cannot be saved when they change. Correct the relationship in the app."
    ) { row in
      let allowed =
        document.maxCount > 0 ? "\(minimum) to \(document.maxCount) are allowed" : "at least \(minimum) are required"
      return "The row \(row[0].shortLiteral) has \(row[1].shortLiteral) members; \(allowed)."
    }
  }

  /// Finds members of one owner that have no order key of their own.
  private func orderKeys(
    of entity: ReadableEntity, _ layout: EntityLayout, _ relationship: RelationshipLayout, _ schema: StoreSchema
  ) throws -> StoreDefect? {
    let pairs = RelationshipPairs(of: relationship, in: schema)
    guard let orderColumn = pairs.orderColumn, !pairs.isReflexive else { return nil }
    let (table, owner) = (SQLName.quoted(pairs.table), SQLName.quoted(pairs.ownerColumn))
    let (member, place) = (SQLName.quoted(pairs.memberColumn), SQLName.quoted(orderColumn))
    let owners = "SELECT o.Z_PK FROM \(SQLName.quoted(layout.table)) o WHERE \(Self.condition(of: entity))"
    let odd =
      "SELECT \(owner) AS OWNER FROM \(table) WHERE \(owner) IN (\(owners)) GROUP BY \(owner) "
      + "HAVING COUNT(DISTINCT \(place)) < COUNT(*)"
    // The repair keeps the order in which members are read now.
    let places =
      "SELECT rowid AS R, 1024 + 1024 * ROW_NUMBER() OVER (PARTITION BY \(owner) ORDER BY \(place), \(member)) AS P "
      + "FROM \(table) WHERE \(owner) IN (\(odd))"
    return try defect(
      .orderKey, entity: entity.name, property: relationship.name,
      rows:
        "SELECT OWNER, (SELECT COUNT(*) - COUNT(DISTINCT \(place)) FROM \(table) WHERE \(owner) = OWNER) FROM (\(odd))",
      repair: ["UPDATE \(table) SET \(place) = n.P FROM (\(places)) n WHERE \(table).rowid = n.R"],
      cure: "The members are renumbered in the order in which they are read."
    ) { row in
      let count = row[1].integer ?? 0
      return
        "The row \(row[0].shortLiteral) has \(count) \(count == 1 ? "member" : "members") without a position, or "
        + "with that of another."
    }
  }

  /// Checks that both ends of each row in join tables exist.
  func joinDefects() throws -> [StoreDefect] {
    guard let schema = reader.schema else { return [] }
    var defects: [StoreDefect] = []
    for join in schema.joinTables {
      guard let owner = schema[join.ownerEntity], let inverse = schema[join.inverseEntity],
        catalog.table(named: join.name) != nil
      else { continue }
      let table = SQLName.quoted(join.name)
      let (near, far) = (SQLName.quoted(join.ownerColumn), SQLName.quoted(join.destinationColumn))
      func lacks(_ entity: EntityLayout, _ row: String) -> String {
        "NOT EXISTS (SELECT 1 FROM \(SQLName.quoted(entity.table)) d WHERE \(row))"
      }
      let isDangling = "(\(lacks(owner, "d.Z_PK = j.\(near)")) OR \(lacks(inverse, "d.Z_PK = j.\(far)")))"
      let dangling = try defect(
        .joinRow, entity: join.ownerEntity, property: join.relationship,
        rows: "SELECT j.rowid, j.\(near), j.\(far) FROM \(table) j WHERE \(isDangling)",
        repair: ["DELETE FROM \(table) AS j WHERE \(isDangling)"],
        cure: "The rows of the join table are deleted: they join nothing."
      ) {
        "A row of \(join.name) joins the rows \($0[1].shortLiteral) of \(owner.name) and \($0[2].shortLiteral) of "
          + "\(inverse.name), which do not both exist."
      }
      // As with foreign keys, the row's own number may be what is damaged.
      let isOdd =
        lacks(owner, Self.match(owner, key: "j.\(near)", in: schema)) + " OR "
        + lacks(inverse, Self.match(inverse, key: "j.\(far)", in: schema))
      let odd = try defect(
        .wrongEntity, entity: join.ownerEntity, property: join.relationship,
        rows: "SELECT j.rowid, j.\(near), j.\(far) FROM \(table) j WHERE NOT \(isDangling) AND (\(isOdd))",
        cure: "Either the row of the join table is wrong, or the entity number of one that it joins. Correct that one."
      ) {
        "A row of \(join.name) joins the rows \($0[1].shortLiteral) of \(owner.table) and \($0[2].shortLiteral) of "
          + "\(inverse.table), which are not both of \(owner.name) and \(inverse.name)."
      }
      defects += [dangling, odd].compactMap { $0 }
    }
    return defects
  }

  /// The next version of a row, by which other programs notice that it has changed. It wraps around at the end of the
  /// range.
  private static let nextVersion =
    "Z_OPT = CASE WHEN typeof(Z_OPT) = 'integer' AND Z_OPT < \(Int64.max) THEN Z_OPT + 1 ELSE 1 END"

  // MARK: Files

  /// Checks the external data files.
  ///
  /// - Parameter isWhole: whether all tables of the model exist, so that a file that no row references is not needed.
  func fileDefects(isWhole: Bool) throws -> (defects: [StoreDefect], fileCount: Int) {
    let support = SupportDirectory(store: reader.url)
    let named = try ExternalReferences.names(in: connection)
    var present: Set<String> = []
    var defects: [StoreDefect] = []
    do {
      let folder = try support.open()
      present = Set(try (folder?.names() ?? []).filter { folder?.isRegularFile($0) ?? false })
    } catch {
      defects.append(
        StoreDefect(
          .missingFile, "The directory \(support.url.lastPathComponent) cannot be read: \(error)",
          cure: "Check its permissions, and that it is not a link."))
    }
    let missing = named.subtracting(present)
    if !missing.isEmpty { defects += try missingFiles(missing, in: support) }
    let orphans = present.filter { ExternalData.isFileName($0) }.subtracting(named).sorted()
    if !orphans.isEmpty {
      defects.append(
        StoreDefect(
          .orphanedFile, count: orphans.count,
          examples: orphans.prefix(limit).map {
            .init(key: nil, text: "No value is kept in the file \($0) of \(support.url.lastPathComponent).")
          },
          cure: isWhole
            ? "Move the files away if no other store of the same name uses the directory."
            : "Keep the files: they may be what is left of rows that are missing."))
    }
    return (defects, named.count)
  }

  private func missingFiles(_ missing: Set<String>, in support: SupportDirectory) throws -> [StoreDefect] {
    var defects: [StoreDefect] = []
    let cure = "Copy the store together with its directory \(support.url.lastPathComponent), or restore the files."
    var found: Set<String> = []
    for entity in reader.entities {
      guard let layout = entity.layout else { continue }
      let attributes = layout.attributes.sorted { $0.key < $1.key }
      for (name, element) in attributes.flatMap({ name, attribute in attribute.filed.map { (name, $0) } }) {
        guard let column = element.column.map({ "o.\(SQLName.quoted($0))" }) else { continue }
        var examples: [StoreDefect.Example] = []
        var count = 0
        try connection.prepare(
          "SELECT o.Z_PK, \(column) FROM \(SQLName.quoted(layout.table)) o WHERE \(Self.condition(of: entity)) AND "
            + "typeof(\(column)) = 'blob' AND length(\(column)) = \(ExternalData.fileNameLength) ORDER BY o.Z_PK"
        ).forEachRow { row in
          guard let file = row.blob(at: 1).flatMap(ExternalData.fileName), missing.contains(file) else { return }
          found.insert(file)
          count += 1
          guard examples.count < limit else { return }
          let key = row.int64(at: 0)
          examples.append(
            .init(
              key: key,
              text: "The row \(key) keeps its value in the file \(file), which is missing or not a regular "
                + "file."))
        }
        guard count > 0 else { continue }
        defects.append(
          StoreDefect(
            .missingFile, entity: entity.name, property: name, count: count, examples: examples, cure: cure))
      }
    }
    // Without a model, a column can only be recognized by the form of its values.
    let rest = reader.schema == nil ? missing.subtracting(found).sorted() : []
    if !rest.isEmpty {
      defects.append(
        StoreDefect(
          .missingFile, count: rest.count,
          examples: rest.prefix(limit).map {
            .init(key: nil, text: "A value is kept in the file \($0), which is missing.")
          },
          cure: cure))
    }
    return defects
  }
}
