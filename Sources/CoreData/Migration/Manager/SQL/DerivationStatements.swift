// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Computes derived attributes of the rows that a mapping has made.
struct DerivationStatements {
  let mapping: SQLMapping

  /// - Throws: `SQLObstacle` for a derivation that SQL cannot compute.
  func statements() throws -> [BoundSQL] {
    try mapping.destination.attributes.values.sorted { $0.name < $1.name }.compactMap { layout in
      guard let attribute = mapping.destinationEntity.attributesByName[layout.name] as? NSDerivedAttributeDescription,
        let derivation = attribute.derivation, let column = layout.column
      else { return nil }
      let builder = mapping.target.predicates()
      let scope = SQLScope(entity: mapping.destination, names: builder.aliases)
      let value = try value(derivation, layout, attribute, scope, builder)
      let table = mapping.target.table(mapping.destination.table)
      return """
        UPDATE \(raw: table) AS r SET \(raw: SQLName.quoted(column)) = (SELECT \(value) FROM \(raw: table) \
        \(raw: scope.alias)\(raw: scope.joins) WHERE \(raw: scope.alias).Z_PK = r.Z_PK) WHERE \(raw: mapping.madeRows("r"))
        """
    }
  }

  private func value(
    _ derivation: ExpressionSyntax, _ layout: AttributeLayout, _ attribute: NSAttributeDescription,
    _ scope: SQLScope, _ builder: PredicateSQL
  ) throws -> BoundSQL {
    var inputs: [String: (value: BoundSQL, decoder: ColumnDecoder)] = [:]
    var keys = SourceKeys(path: SourceKeys.ownPath) { path in
      let found = try SourcePath(path, of: mapping.destinationEntity, scope: scope, in: mapping.target)
      guard case .column(let value, let from, let description) = found,
        let decoder = ColumnDecoder(from, description, external: mapping.target.external)
      else { return false }
      inputs[path] = (value, decoder)
      return true
    }
    let reduced = try keys.reduced(derivation)
    guard keys.needsObject || keys.obstacle != nil else {
      guard let encoder = ColumnEncoder(layout, attribute, external: mapping.target.external) else {
        throw obstacle(layout)
      }
      let used = keys.paths.compactMap { path in inputs[path].map { (SourceKeys.variable(path), $0) } }
      var evaluator = PredicateEvaluator()
      let name = mapping.addFunction(argumentCount: used.count) { arguments in
        for (position, input) in used.enumerated() {
          evaluator.variables[input.0] = .some(try input.1.decoder.value(arguments[position]))
        }
        return try encoder.stored(try evaluator.value(reduced, with: nil))
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
      throw obstacle(layout)
    }
  }

  private func obstacle(_ layout: AttributeLayout) -> SQLObstacle {
    SQLObstacle(
      "makes objects whose attribute '\(layout.name)' is derived by more than SQL has", property: layout.name)
  }
}
