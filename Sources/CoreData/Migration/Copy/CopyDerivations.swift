// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Computes derived attributes of the copies from the finished destination.
struct CopyDerivations {
  let plan: CopyPlan

  /// The statements for the rows that a mapping has made.
  ///
  /// - Throws: `CopyBarrier` for a derivation that SQL cannot compute.
  func statements(for copy: EntityCopy) throws -> [BoundSQL] {
    try copy.destination.attributes.values.sorted { $0.name < $1.name }.compactMap { layout in
      guard let attribute = copy.destinationEntity.attributesByName[layout.name] as? NSDerivedAttributeDescription,
        let derivation = attribute.derivation, let column = layout.column
      else { return nil }
      let builder = plan.target.predicates()
      let scope = SQLScope(entity: copy.destination, names: builder.aliases)
      let value = try value(derivation, layout, attribute, copy, scope, builder)
      let table = plan.target.table(copy.destination.table)
      return """
        UPDATE \(raw: table) AS r SET \(raw: SQLName.quoted(column)) = (SELECT \(value) FROM \(raw: table) \
        \(raw: scope.alias)\(raw: scope.joins) WHERE \(raw: scope.alias).Z_PK = r.Z_PK) WHERE \(raw: copy.madeRows("r"))
        """
    }
  }

  private func value(
    _ derivation: ExpressionSyntax, _ layout: AttributeLayout, _ attribute: NSAttributeDescription, _ copy: EntityCopy,
    _ scope: SQLScope, _ builder: PredicateSQL
  ) throws -> BoundSQL {
    var inputs: [String: (value: BoundSQL, decoder: ColumnDecoder)] = [:]
    var keys = SourceKeys(path: SourceKeys.ownPath) { path in
      let found = try SourcePath(path, of: copy.destinationEntity, mapping: copy.name, scope: scope, in: plan.target)
      guard case .column(let value, let from, let description) = found,
        let decoder = ColumnDecoder(from, description, external: plan.target.external)
      else { return false }
      inputs[path] = (value, decoder)
      return true
    }
    let reduced = try keys.reduced(derivation)
    guard keys.needsObject || keys.obstacle != nil else {
      let encoder = ColumnEncoder(
        layout, attribute, external: plan.target.external, mapping: copy.name, entity: copy.destination.name)
      guard let encoder else { throw barrier(copy, layout) }
      let used = keys.paths.compactMap { path in inputs[path].map { (SourceKeys.variable(path), $0) } }
      let place = ExpressionPlace(mapping: copy.name, entity: copy.destination.name, property: layout.name)
      var evaluator = PredicateEvaluator()
      let name = plan.addFunction(argumentCount: used.count) { arguments in
        try place.locating(derivation) {
          for (position, input) in used.enumerated() {
            evaluator.variables[input.0] = .some(try input.1.decoder.value(arguments[position]))
          }
          return try encoder.stored(try evaluator.value(reduced, with: nil))
        }
      }
      return "\(raw: name)(\(used.map(\.1.value).joined(", ")))"
    }
    // Counts and sums over relationships.
    do {
      guard case .value(let sql, _) = try builder.operand(derivation, SQLNames(evaluated: scope)) else {
        throw NotExpressibleInSQL()
      }
      return sql
    } catch is NotExpressibleInSQL {
      throw barrier(copy, layout)
    }
  }

  private func barrier(_ copy: EntityCopy, _ layout: AttributeLayout) -> CopyBarrier {
    CopyBarrier(
      mapping: copy.name, property: layout.name,
      reason: "makes objects whose attribute '\(layout.name)' is derived by more than SQL has")
  }
}
