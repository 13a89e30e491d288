// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Sets the relationships of the rows that a mapping has made, from those of the rows that they were made of, for mappings
/// whose relationships ask what became of what.
///
/// As with objects, row after row gets its relationships in the order of the mappings.
struct RelationshipRows {
  private unowned(unsafe) let run: MigrationRun
  private let plan: EntityPlan
  private let links: [Link]
  private let source: Int32
  private let destination: Int32
  private let offset: Int64
  private let keys: ClosedRange<Int64>

  private struct Link {
    let plan: RelationshipPlan
    /// Reads the rows that are asked for; nil where it is the source itself.
    let reader: RowLinkReader?
    /// The tables of the mapping that is asked; nil for all.
    let tables: [Int]?
    let writer: RowLinkWriter
  }

  /// - Returns: nil for a mapping with a relationship that takes objects.
  init?(_ plan: EntityPlan, _ run: MigrationRun) throws {
    guard let source = plan.sourceNumber, let destination = plan.destinationNumber, let offset = plan.offset,
      let keys = plan.sourceKeys
    else { return nil }
    let (from, to) = (try run.source.store.state(), try run.destination.store.state())
    guard let entity = from.entities.schema.entity(number: Int(source)),
      let made = to.entities.schema.entity(number: Int(destination))
    else { return nil }
    var links: [Link] = []
    for relationship in plan.relationships {
      let (sources, tables): (RelationshipPlan.Sources, [Int]?)
      switch relationship.value {
      case .expression: return nil
      case .anyMapping(let asked): (sources, tables) = (asked, nil)
      case .mapping(let name, let asked):
        do {
          (sources, tables) = (asked, try run.tables(named: name))
        } catch is EvaluationError {
          // The mapping model's mistake is told with the object that it is met at.
          return nil
        }
      }
      var reader: RowLinkReader?
      if case .relationship(let name) = sources {
        reader = RowLinkReader(name, of: entity, from.entities)
        if reader == nil { return nil }
      }
      guard
        let writer = RowLinkWriter(relationship.relationship, position: relationship.position, of: made, to)
      else { return nil }
      links.append(Link(plan: relationship, reader: reader, tables: tables, writer: writer))
    }
    (self.plan, self.run, self.links) = (plan, run, links)
    (self.source, self.destination, self.offset, self.keys) = (source, destination, offset, keys)
  }

  /// Sets all relationships.
  ///
  /// - Returns: whether that was possible for all rows; where not, the object engine says what is wrong, and with which
  ///   object.
  func set() throws -> Bool {
    if links.contains(where: \.writer.isSearching) {
      try run.destination.store.asking { try run.destination.store.willSearch?($0) }
    }
    var next = keys.lowerBound + offset
    let last = keys.upperBound + offset
    while next <= last {
      let rows = try run.destination.store.primaryKeys(
        ofEntity: Int(destination), in: next...last, limit: run.batchSize)
      guard let first = rows.first, let end = rows.last else { return true }
      try run.manager.checkCancellation()
      // What lies between rows that are far apart is not read.
      let isDense = KeyRanges.isDense(first...end, count: rows.count)
      for group in isDense ? [rows[...]] : rows.indices.map({ rows[$0...$0] }) where try !set(group) { return false }
      run.didObjects(rows.count)
      if rows.count < run.batchSize || end == last { return true }
      next = end + 1
    }
    return true
  }

  private func set(_ rows: ArraySlice<Int64>) throws -> Bool {
    guard let first = rows.first, let last = rows.last else { return true }
    let members = try run.source.store.asking { state in
      try links.map { try $0.reader?.read((first - offset)...(last - offset), state.connection) }
    }
    return try run.destination.store.asking { _ in
      for row in rows {
        let sourceRow = RowKey(entity: source, number: row - offset)
        for (link, members) in zip(links, members) {
          let sources = members.map { $0[sourceRow.number] ?? [] } ?? [sourceRow]
          guard let found = try destinations(of: sources, link) else { return false }
          try link.writer.set(RowKey(entity: destination, number: row), to: found)
        }
      }
      return true
    }
  }

  /// What became of sources; nil where it is not what the relationship may lead to.
  private func destinations(of sources: [RowKey], _ link: Link) throws -> [RowKey]? {
    if sources.isEmpty { return [] }
    let relationship = link.plan.relationship
    let found: [RowKey]
    if let tables = link.tables {
      found = try run.destinationKeys(in: tables, of: sources).filter { key in
        // A policy may have made objects of several entities; those of the mapping's own are to fit.
        fits(key, relationship) || tables.contains { run.manager.associations.tables[$0].destination == key.entity }
      }
    } else {
      run.wantedDestination = relationship.destinationEntity
      defer { run.wantedDestination = nil }
      found = try run.anyDestinationKeys(of: sources)
    }
    guard found.allSatisfy({ fits($0, relationship) }), relationship.isToMany || found.count <= 1 else { return nil }
    return found
  }

  private func fits(_ key: RowKey, _ relationship: NSRelationshipDescription) -> Bool {
    guard let wanted = relationship.destinationEntity else { return true }
    let entity = run.destination.store.entity(number: Int(key.entity))
    return entity === wanted || entity?.isKindOf(entity: wanted) ?? false
  }
}
