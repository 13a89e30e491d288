// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads the source objects of a mapping in batches, in the order of their keys.
struct SourceReader {
  let run: MigrationRun
  let plan: ResolvedMapping

  /// Calls a body for each source object, passing the key of the object of the same entity directly before it, if
  /// known.
  func read(
    _ body: (NSManagedObject, Int64?) throws -> Void, afterBatch: (Int) throws -> Void
  ) throws {
    switch plan.sources {
    case .none: return
    case .all:
      guard let entity = plan.sourceEntity else { return }
      try read(RowQuery(entity: entity, includesSubentities: false), body, afterBatch)
    case .request(let syntax, let contextSyntax):
      let request = try run.objects.evaluateSource(syntax, plan)
      guard let request = request as? any AnyFetchRequest,
        try run.objects.evaluateSource(contextSyntax, plan) as? NSManagedObjectContext === run.source.context
      else {
        throw unfit(syntax, Operand.description(request), "a fetch request and the manager's source context")
      }
      let specification = request.specification
      if let query = try query(specification, syntax) {
        try read(query, body, afterBatch)
      } else {
        try read(run.source.context.results(of: specification), syntax, body, afterBatch)
      }
    case .collection(let syntax):
      guard let value = Operand.unwrapped(try run.objects.evaluateSource(syntax, plan)) else { return }
      guard let elements = Operand.elements(value) else {
        throw unfit(syntax, Operand.description(value), "a collection of source objects")
      }
      try read(elements, syntax, body, afterBatch)
    }
  }

  private func unfit(_ syntax: ExpressionSyntax, _ found: String, _ wanted: String) -> NSError {
    var subject = plan.subject
    subject.expression = PredicatePrinter().format(syntax)
    return MappingErrors.unfitValue(subject, found: found, wanted: wanted)
  }

  /// Returns the query equivalent to a request; nil for a request with an order, limits, or a predicate that contains a
  /// block.
  private func query(_ specification: FetchSpecification, _ syntax: ExpressionSyntax) throws -> RowQuery? {
    guard specification.sortDescriptors?.isEmpty ?? true, specification.fetchLimit == 0, specification.fetchOffset == 0,
      specification.resultType == .managedObjectResultType,
      let name = specification.entity?.name ?? specification.entityName,
      let entity = run.source.model.entitiesByName[name]
    else { return nil }
    var query = RowQuery(entity: entity, includesSubentities: specification.includesSubentities)
    guard let predicate = specification.predicate else { return query }
    let condition: PredicateSyntax
    do {
      condition = try PredicateSyntax(predicate).convertingConstants(for: entity)
    } catch is OpaqueCriterion {
      return nil
    }
    for path in condition.keyPaths {
      // An unknown key is an error in the mapping model, even if there are no rows to evaluate it on.
      let key = path.split(separator: ".").first.map(String.init) ?? path
      guard entity.propertiesByName[key] != nil || key.hasPrefix("@") || ["self", "SELF", "objectID"].contains(key)
      else {
        throw ObjectExecutor.failed(plan, syntax, EvaluationError.unknownKey(key, object: "The entity \(name)"))
      }
    }
    if condition != .constant(true) { query.predicate = condition }
    return query
  }

  private func read(
    _ query: RowQuery, _ body: (NSManagedObject, Int64?) throws -> Void, _ afterBatch: (Int) throws -> Void
  ) throws {
    let (store, context) = (run.source.store, run.source.context)
    // Without a predicate, no row of the entity is skipped, so the previous key is known.
    let isWhole = query.predicate == nil
    var query = query
    query.limit = run.batchSize
    var filter: PredicateSyntax?
    var next = Int64.min
    var previous: Int64?
    while true {
      query.keys = next...Int64.max
      var rows = try store.rows(for: query)
      if rows == nil {
        // SQL cannot express the predicate, so read all rows, and evaluate it on each object.
        filter = query.predicate
        query.predicate = nil
        rows = try store.rows(for: query)
      }
      guard let rows, let last = rows.last else { return }
      var count = 0
      for position in rows.indices {
        let object = context.object(for: rows[position])
        if let filter, try !isWanted(object, filter) { continue }
        try body(object, previous)
        count += 1
        if isWhole, object.entity === plan.sourceEntity { previous = rows[position].key.number }
      }
      try afterBatch(count)
      if rows.count < query.limit || last.key.number == Int64.max { return }
      next = last.key.number + 1
    }
  }

  private func isWanted(_ object: NSManagedObject, _ filter: PredicateSyntax) throws -> Bool {
    do {
      return try PredicateEvaluator().evaluate(filter, with: object)
    } catch let failure as EvaluationError {
      var subject = plan.subject
      subject.expression = PredicatePrinter().format(filter)
      throw MappingErrors.failedExpression(subject, failure)
    }
  }

  private func read(
    _ elements: [Any], _ syntax: ExpressionSyntax, _ body: (NSManagedObject, Int64?) throws -> Void,
    _ afterBatch: (Int) throws -> Void
  ) throws {
    var count = 0
    for element in elements {
      guard let object = element as? NSManagedObject, object.context === run.source.context else {
        throw unfit(syntax, Operand.description(element), "a collection of source objects")
      }
      try body(object, nil)
      count += 1
      if count == run.batchSize {
        try afterBatch(count)
        count = 0
      }
    }
    try afterBatch(count)
  }
}
