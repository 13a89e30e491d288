// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The values of attribute columns, as SQL over a source row.
struct AttributeColumns {
  typealias Column = (name: String, value: BoundSQL)

  let mapping: SQLMapping
  let scope: SQLScope

  /// Returns the columns of all attributes except derived ones, which are computed from the finished rows.
  ///
  /// - Throws: `SQLObstacle` for an expression that is invalid, or that requires objects.
  func columns() throws -> [Column] {
    let resolved = Dictionary(mapping.resolved.attributes.map { ($0.name, $0) }) { $1 }
    return try mapping.destination.attributes.values.sorted { $0.name < $1.name }.flatMap { layout -> [Column] in
      guard let attribute = mapping.destinationEntity.attributesByName[layout.name],
        !(attribute is NSDerivedAttributeDescription)
      else { return [] }
      guard let found = resolved[layout.name] else { return try constant(attribute.initialValue, layout, attribute) }
      return try orDefault(try columns(found, layout, attribute), layout, attribute)
    }
  }

  /// For an inferred mapping, replaces missing values in columns with the default value of a required attribute.
  private func orDefault(
    _ columns: [Column], _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    guard mapping.resolved.isInferred, !attribute.isOptional, attribute.defaultValue != nil, columns.count == 1 else {
      return columns
    }
    let standard = try constant(attribute.defaultValue, layout, attribute)
    return [(columns[0].name, "IFNULL(\(columns[0].value), \(standard[0].value))")]
  }

  private func columns(
    _ resolved: ResolvedAttribute, _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    let expression = resolved.syntax
    if case .constant(let value) = expression {
      return try constant(value == .null ? nil : value.foundationValue(), layout, attribute)
    }
    if let path = SourceKeys.path(expression) {
      switch try SourcePath(path, of: mapping.sourceEntity, scope: scope, in: mapping.source) {
      case .column(let value, let from, let description):
        return try direct(value, from, description, layout, attribute)
      case .composite(let from, let description, let alias):
        return try elements(of: from, description, alias, layout, attribute)
      case .nothing: return layout.columns.map { ($0, "NULL") }
      case .relationship: throw SQLObstacle("has objects for the attribute '\(layout.name)'", property: layout.name)
      case .other: break
      }
    }
    return [try computed(resolved, layout, attribute)]
  }

  // MARK: Constants

  private func constant(
    _ value: Any?, _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    guard let column = layout.column else {
      let values = (value as? NSDictionary) ?? [:]
      return try layout.elements.flatMap { element -> [Column] in
        guard let inner = Self.element(element.name, of: attribute) else { return [] }
        return try constant(values[element.name], element, inner)
      }
    }
    let stored: SQLiteValue
    do {
      stored = try encoder(layout, attribute).stored(value)
    } catch let unfit as ColumnConverter.UnfitValue {
      throw SQLObstacle("has an unsuitable value for '\(layout.name)': \(unfit)", property: layout.name)
    }
    return [(column, stored == .null ? "NULL" : "\(value: stored)")]
  }

  private static func element(_ name: String, of attribute: NSAttributeDescription) -> NSAttributeDescription? {
    (attribute as? NSCompositeAttributeDescription)?.elements.first { $0.name == name }
  }

  // MARK: Columns

  private func elements(
    of from: AttributeLayout, _ description: NSAttributeDescription, _ alias: String, _ layout: AttributeLayout,
    _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    guard layout.column == nil else { throw incompatible(description, attribute) }
    let pairs = CompositePairs(from: description, to: attribute)
    return try layout.elements.flatMap { element -> [Column] in
      guard let new = Self.element(element.name, of: attribute) else { return [] }
      guard let old = pairs.source(of: new), let inner = from.elements.first(where: { $0.name == old.name }) else {
        return try constant(new.initialValue, element, new)
      }
      guard let column = inner.column else { return try elements(of: inner, old, alias, element, new) }
      let value = BoundSQL("\(raw: alias).\(raw: SQLName.quoted(column))")
      return try orDefault(try direct(value, inner, old, element, new), element, new)
    }
  }

  private func direct(
    _ value: BoundSQL, _ from: AttributeLayout, _ description: NSAttributeDescription, _ layout: AttributeLayout,
    _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    guard let column = layout.column else { throw incompatible(description, attribute) }
    func converted() throws -> BoundSQL {
      let expression = ExpressionSyntax.variable("value")
      return try valueFunction(expression, nil, [("value", value, from, description)], layout, attribute)
    }
    switch (from.kind, layout.kind) {
    case (.binaryData, .binaryData):
      if from.allowsExternalStorage, layout.allowsExternalStorage { return [(column, mapping.adoptedFile(value))] }
      if !from.allowsExternalStorage, !layout.allowsExternalStorage { return [(column, value)] }
      return [(column, try converted())]
    case (.transformable, .transformable):
      return [(column, description.valueTransformerName == attribute.valueTransformerName ? value : try converted())]
    case (.transformable, _), (_, .transformable), (.float, .decimal), (.double, .decimal):
      return [(column, try converted())]
    case let (old, new) where old == new: return [(column, value)]
    case let (old, new) where old.isNumeric && new.isNumeric:
      // A function throws for a value that the new type cannot hold; a cast would not.
      return [(column, Self.casts(old, to: new) ? NumberCast(from: old, to: new).sql(value) : try converted())]
    default: throw incompatible(description, attribute)
    }
  }

  /// Returns whether SQL converts all numbers of one type to another as setting them on an object would.
  ///
  /// A cast silently accepts a number that is too large, and does not round to a `Float`.
  private static func casts(_ old: AttributeKind, to new: AttributeKind) -> Bool {
    let hasOwnRounding = old != .boolean && old != .integer16 && [.float, .decimal].contains(new)
    return !hasOwnRounding && NumberConversion(column: "", from: old, to: new).refused == nil
  }

  // MARK: Functions

  private func computed(
    _ resolved: ResolvedAttribute, _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> Column {
    guard let column = layout.column else {
      throw SQLObstacle("computes the composite attribute '\(layout.name)'", property: layout.name)
    }
    var inputs: [String: FunctionInput] = [:]
    var keys = SourceKeys { path in
      guard
        case .column(let value, let from, let description) = try SourcePath(
          path, of: mapping.sourceEntity, scope: scope, in: mapping.source)
      else { return false }
      inputs[path] = (SourceKeys.variable(path), value, from, description)
      return true
    }
    let reduced = try keys.reduced(resolved.syntax)
    if let obstacle = keys.obstacle {
      throw SQLObstacle("\(obstacle) in the expression for '\(layout.name)'", property: layout.name)
    }
    if keys.needsObject { return (column, try objectFunction(resolved, layout, attribute)) }
    return (column, try valueFunction(reduced, resolved, keys.paths.compactMap { inputs[$0] }, layout, attribute))
  }

  typealias FunctionInput = (variable: String, value: BoundSQL, AttributeLayout, NSAttributeDescription)

  /// Returns a call of a function that computes the value from the values of columns.
  private func valueFunction(
    _ expression: ExpressionSyntax, _ resolved: ResolvedAttribute?, _ inputs: [FunctionInput],
    _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> BoundSQL {
    let encoder = try encoder(layout, attribute)
    let decoders = inputs.compactMap { input in
      ColumnConverter(input.2, input.3, external: mapping.source.external).map { (input.variable, $0) }
    }
    let compiled = CompiledExpression(expression, inputs: decoders.map(\.0), variables: variables(resolved))
    let takesTexts = encoder.isText && decoders.count == inputs.count && decoders.allSatisfy(\.1.isText)
    let texts = takesTexts ? TextExpression(expression, inputs: decoders.map(\.0)) : nil
    let name = mapping.addFunction(argumentCount: inputs.count, texts: texts) { arguments in
      var values: [Any?] = []
      values.reserveCapacity(decoders.count)
      for (position, decoder) in decoders.enumerated() { values.append(try decoder.1.value(arguments[position])) }
      return try encoder.stored(try compiled.value(values))
    }
    return "\(raw: name)(\(inputs.map(\.value).joined(", ")))"
  }

  /// Returns a call of a function that computes the value from the source object.
  private func objectFunction(
    _ resolved: ResolvedAttribute, _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> BoundSQL {
    let encoder = try encoder(layout, attribute)
    let (objects, entity, expression) = (mapping.objects, mapping.rows.entity, resolved.syntax)
    var evaluator = PredicateEvaluator(variables: variables(resolved))
    let name = mapping.addFunction(argumentCount: 1) { arguments in
      evaluator.variables[NSMigrationSourceObjectKey] = .some(try objects.object(entity, arguments[0].integer ?? 0))
      return try encoder.stored(try evaluator.value(expression, with: nil))
    }
    return "\(raw: name)(\(raw: scope.alias).Z_PK)"
  }

  private func variables(_ resolved: ResolvedAttribute?) -> [String: Any?] {
    [NSMigrationEntityMappingKey: mapping.resolved.mapping, NSMigrationPropertyMappingKey: resolved?.mapping]
  }

  private func encoder(_ layout: AttributeLayout, _ attribute: NSAttributeDescription) throws -> ColumnConverter {
    guard let encoder = ColumnConverter(layout, attribute, external: mapping.target.external) else {
      throw SQLObstacle("has no column for '\(layout.name)'", property: layout.name)
    }
    return encoder
  }

  private func incompatible(_ old: NSAttributeDescription, _ new: NSAttributeDescription) -> SQLObstacle {
    SQLObstacle(
      "has a value of type \(old.attributeType.kind.title) for '\(new.name)', which is of type "
        + "\(new.attributeType.kind.title)", property: new.name)
  }
}

/// The statements that compute the derived attributes of the rows that a mapping has created.
struct DerivationStatements {
  let mapping: SQLMapping

  /// - Throws: `SQLObstacle` for a derivation that SQL cannot compute.
  func statements() throws -> [BoundSQL] {
    try mapping.destination.attributes.values.sorted { $0.name < $1.name }.compactMap { layout in
      guard let attribute = mapping.destinationEntity.attributesByName[layout.name] as? NSDerivedAttributeDescription,
        let derivation = attribute.derivation, let column = layout.column
      else { return nil }
      if let path = derivation.keyPaths.first(where: readsDerivedValue) {
        throw SQLObstacle("has the derived attribute '\(layout.name)', which reads '\(path)'", property: layout.name)
      }
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

  /// Returns whether a key path leads to a derived attribute, which may be computed only later.
  private func readsDerivedValue(_ path: String) -> Bool {
    var entity: NSEntityDescription? = mapping.destinationEntity
    for key in path.split(separator: ".").map(String.init) where !key.hasPrefix("@") {
      if entity?.attributesByName[key] is NSDerivedAttributeDescription { return true }
      entity = entity?.relationshipsByName[key]?.destinationEntity
    }
    return false
  }

  private func value(
    _ derivation: ExpressionSyntax, _ layout: AttributeLayout, _ attribute: NSAttributeDescription,
    _ scope: SQLScope, _ builder: PredicateSQL
  ) throws -> BoundSQL {
    var inputs: [String: (value: BoundSQL, decoder: ColumnConverter)] = [:]
    var keys = SourceKeys(path: SourceKeys.ownPath) { path in
      let found = try SourcePath(path, of: mapping.destinationEntity, scope: scope, in: mapping.target)
      guard case .column(let value, let from, let description) = found,
        let decoder = ColumnConverter(from, description, external: mapping.target.external)
      else { return false }
      inputs[path] = (value, decoder)
      return true
    }
    let reduced = try keys.reduced(derivation)
    guard keys.needsObject || keys.obstacle != nil else {
      guard let encoder = ColumnConverter(layout, attribute, external: mapping.target.external) else {
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
      guard case .value(let scalar) = try builder.operand(derivation, SQLNames(evaluated: scope)),
        scalar.kind != .calculated
      else { throw NotExpressibleInSQL() }
      return scalar.sql
    } catch let found as NotExpressibleInSQL {
      throw obstacle(layout, found)
    }
  }

  private func obstacle(_ layout: AttributeLayout, _ found: NotExpressibleInSQL = .init()) -> SQLObstacle {
    SQLObstacle(
      "has the derived attribute '\(layout.name)', and SQL cannot compute \(found)", property: layout.name)
  }
}
