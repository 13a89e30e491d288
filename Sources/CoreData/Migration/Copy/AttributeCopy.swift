// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles

/// Works out what goes into the columns of attributes.
struct AttributeCopy {
  typealias Column = (name: String, value: BoundSQL)

  let plan: CopyPlan
  let copy: EntityCopy
  let scope: SQLScope

  /// All columns of the destination's attributes. Derived attributes are computed from the finished copy.
  func columns() throws -> [Column] {
    var expressions: [String: ExpressionSyntax?] = [:]
    var mappings: [String: NSPropertyMapping] = [:]
    for mapping in copy.mapping.attributeMappings(from: copy.sourceEntity, to: copy.destinationEntity) {
      let name = mapping.name ?? ""
      guard copy.destinationEntity.attributesByName[name] != nil else { throw unknown(name) }
      expressions[name] = .some(mapping.valueSyntax)
      mappings[name] = mapping
    }
    return try copy.destination.attributes.values.sorted { $0.name < $1.name }.flatMap { layout -> [Column] in
      guard let attribute = copy.destinationEntity.attributesByName[layout.name],
        !(attribute is NSDerivedAttributeDescription)
      else { return [] }
      guard let expression = expressions[layout.name] ?? nil else {
        return try constant(attribute.defaultValue, layout, attribute)
      }
      let columns = try columns(expression, mappings[layout.name], layout, attribute)
      guard plan.isInferred, !attribute.isOptional, attribute.defaultValue != nil, let first = columns.first else {
        return columns
      }
      // An optional attribute that has become required: as in place, objects without value get the default one.
      let standard = try constant(attribute.defaultValue, layout, attribute)
      let filled: BoundSQL = "IFNULL(\(first.value), \(standard[0].value))"
      return columns.count == 1 ? [(first.name, filled)] : columns
    }
  }

  private func columns(
    _ expression: ExpressionSyntax, _ mapping: NSPropertyMapping?, _ layout: AttributeLayout,
    _ attribute: NSAttributeDescription
  ) throws -> [Column] {
    if case .constant(let value) = expression {
      return try constant(value == .null ? nil : value.foundationValue(), layout, attribute)
    }
    if let path = SourceKeys.path(expression) {
      switch try SourcePath(path, from: copy, scope: scope, in: plan.source) {
      case .column(let value, let from, let description):
        return try direct(value, from, description, layout, attribute)
      case .composite(let from, let description, let alias):
        return try elements(of: from, description, alias, layout, attribute)
      case .nothing: return layout.columns.map { ($0, "NULL") }
      case .toOne, .toMany:
        throw CopyProblem(
          mapping: copy.name, entity: copy.destination.name, property: layout.name,
          reason: "The expression for the attribute '\(layout.name)' gives objects.",
          suggestion: "Add a key of an attribute to the key path.")
      case .other: break
      }
    }
    return [try computed(expression, mapping, layout, attribute)]
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
    let stored = try encoder(layout, attribute).stored(value)
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
    return try layout.elements.flatMap { element -> [Column] in
      guard let inner = from.elements.first(where: { $0.name == element.name }),
        let old = Self.element(element.name, of: description), let new = Self.element(element.name, of: attribute)
      else { return element.columns.map { ($0, "NULL") } }
      guard let column = inner.column else { return try elements(of: inner, old, alias, element, new) }
      return try direct("\(raw: alias).\(raw: SQLName.quoted(column))", inner, old, element, new)
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
      if from.allowsExternalStorage, layout.allowsExternalStorage { return [(column, plan.adoptedFile(value))] }
      if !from.allowsExternalStorage, !layout.allowsExternalStorage { return [(column, value)] }
      return [(column, try converted())]
    case (.transformable, .transformable):
      return [(column, description.valueTransformerName == attribute.valueTransformerName ? value : try converted())]
    case (.transformable, _), (_, .transformable), (.float, .decimal), (.double, .decimal):
      return [(column, try converted())]
    case let (old, new) where old == new: return [(column, value)]
    case let (old, new) where old.isNumeric && new.isNumeric:
      // A value that the new type cannot hold is refused, which a function does and a cast does not.
      return [(column, Self.holdsAll(old, in: new) ? Self.number(value, old, new) : try converted())]
    default: throw incompatible(description, attribute)
    }
  }

  /// Whether a type has room for all values of another.
  private static func holdsAll(_ old: AttributeKind, in new: AttributeKind) -> Bool {
    switch (old, new) {
    case (.boolean, _), (_, .boolean), (.integer16, _), (.integer32, .integer64), (_, .double): true
    default: false
    }
  }

  /// A number as setting it on an object would turn it into one of another type.
  private static func number(_ value: BoundSQL, _ old: AttributeKind, _ new: AttributeKind) -> BoundSQL {
    let isReal = [.double, .float, .decimal].contains(old)
    switch new {
    case .boolean: return "(\(value) <> 0)"
    case .integer16, .integer32, .integer64: return isReal ? "CAST(\(value) AS INTEGER)" : value
    case .double, .float: return "CAST(\(value) AS REAL)"
    default: return value
    }
  }

  // MARK: Functions

  private func computed(
    _ expression: ExpressionSyntax, _ mapping: NSPropertyMapping?, _ layout: AttributeLayout,
    _ attribute: NSAttributeDescription
  ) throws -> Column {
    guard let column = layout.column else {
      throw CopyBarrier(
        mapping: copy.name, property: layout.name, reason: "computes the composite attribute '\(layout.name)'")
    }
    var inputs: [String: FunctionInput] = [:]
    var keys = SourceKeys { path in
      switch try SourcePath(path, from: copy, scope: scope, in: plan.source) {
      case .column(let value, let from, let description):
        inputs[path] = (SourceKeys.variable(path), value, from, description)
        return true
      default: return false
      }
    }
    let reduced = try keys.reduced(expression)
    if let obstacle = keys.obstacle {
      throw CopyBarrier(
        mapping: copy.name, property: layout.name, reason: "\(obstacle) in the expression for '\(layout.name)'")
    }
    if keys.needsObject { return (column, try objectFunction(expression, mapping, layout, attribute)) }
    let used = keys.paths.compactMap { inputs[$0] }
    return (column, try valueFunction(reduced, mapping, used, layout, attribute))
  }

  typealias FunctionInput = (variable: String, value: BoundSQL, AttributeLayout, NSAttributeDescription)

  /// A call of a function that computes the value from those of other columns.
  private func valueFunction(
    _ expression: ExpressionSyntax, _ mapping: NSPropertyMapping?, _ inputs: [FunctionInput],
    _ layout: AttributeLayout, _ attribute: NSAttributeDescription
  ) throws -> BoundSQL {
    let encoder = try encoder(layout, attribute)
    let decoders = inputs.compactMap { input in
      ColumnDecoder(input.2, input.3, external: plan.source.external).map { (input.variable, $0) }
    }
    let place = ExpressionPlace(mapping: copy.name, entity: copy.destination.name, property: layout.name)
    let compiled = CompiledExpression(expression, inputs: decoders.map(\.0), variables: variables(mapping))
    let takesTexts = encoder.takesText && decoders.count == inputs.count && decoders.allSatisfy(\.1.isText)
    let texts = takesTexts ? TextExpression(expression, inputs: decoders.map(\.0)) : nil
    let name = plan.addFunction(argumentCount: inputs.count, texts: texts) { arguments in
      try place.locating(expression) {
        var values: [Any?] = []
        values.reserveCapacity(decoders.count)
        for (position, decoder) in decoders.enumerated() { values.append(try decoder.1.value(arguments[position])) }
        return try encoder.stored(try compiled.value(values))
      }
    }
    return "\(raw: name)(\(inputs.map(\.value).joined(", ")))"
  }

  /// A call of a function that computes the value from the source object.
  private func objectFunction(
    _ expression: ExpressionSyntax, _ mapping: NSPropertyMapping?, _ layout: AttributeLayout,
    _ attribute: NSAttributeDescription
  ) throws -> BoundSQL {
    let encoder = try encoder(layout, attribute)
    let place = ExpressionPlace(mapping: copy.name, entity: copy.destination.name, property: layout.name)
    let (objects, entity) = (plan.objects, copy.rows.entity)
    var evaluator = PredicateEvaluator(variables: variables(mapping))
    let name = plan.addFunction(argumentCount: 1) { arguments in
      try place.locating(expression) {
        evaluator.variables["source"] = .some(try objects.object(entity, arguments[0].integer ?? 0))
        return try encoder.stored(try evaluator.value(expression, with: nil))
      }
    }
    return "\(raw: name)(\(raw: scope.alias).Z_PK)"
  }

  private func variables(_ mapping: NSPropertyMapping?) -> [String: Any?] {
    ["entityMapping": copy.mapping, "propertyMapping": mapping]
  }

  private func encoder(_ layout: AttributeLayout, _ attribute: NSAttributeDescription) throws -> ColumnEncoder {
    let encoder = ColumnEncoder(
      layout, attribute, external: plan.target.external, mapping: copy.name, entity: copy.destination.name)
    guard let encoder else {
      throw CopyBarrier(mapping: copy.name, property: layout.name, reason: "has no column for it")
    }
    return encoder
  }

  // MARK: Problems

  private func unknown(_ property: String) -> CopyProblem {
    CopyProblem(
      mapping: copy.name, entity: copy.destination.name, property: property,
      reason: "It maps '\(property)', and '\(copy.destination.name)' has no attribute of that name.",
      suggestion: "Remove the property mapping, or correct its name.")
  }

  private func incompatible(_ old: NSAttributeDescription, _ new: NSAttributeDescription) -> CopyProblem {
    CopyProblem(
      mapping: copy.name, entity: copy.destination.name, property: new.name,
      reason:
        "The expression for '\(new.name)' of '\(copy.destination.name)' gives a value of type "
        + "\(old.attributeType.kind.title), and the attribute is of type \(new.attributeType.kind.title).",
      suggestion: "Convert the value in the expression, or change the type of the attribute.")
  }
}

/// Where an expression stands, for what is said when it fails.
struct ExpressionPlace {
  let mapping: String
  let entity: String
  let property: String

  /// Runs a body and tells of its failure which expression it was.
  func locating<Result>(_ expression: ExpressionSyntax, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let problem as CopyProblem {
      throw problem
    } catch {
      throw CopyProblem(
        mapping: mapping, entity: entity, property: property,
        reason:
          "The expression \(PredicatePrinter().format(expression)) for '\(property)' of '\(entity)' fails: \(error)",
        suggestion: "Correct the expression, or the values that it fails for.")
    }
  }
}
