// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles

/// Determines what an expression of a mapping needs from its source object.
struct SourceKeys {
  /// The key paths from the source object that lead to columns, in the order of their occurrence.
  private(set) var paths: [String] = []
  /// Whether the expression needs the object itself, for its relationships or as an argument.
  private(set) var needsObject = false
  /// The reason why only object migration can evaluate the expression; nil if there is none.
  private(set) var obstacle: String?
  private let path: (ExpressionSyntax) -> String?
  private let isColumn: (String) throws -> Bool

  /// - Parameters:
  ///   - path: returns the key path from the object in an expression.
  ///   - isColumn: returns whether a key path leads to an attribute without passing a to-many relationship.
  init(path: @escaping (ExpressionSyntax) -> String? = Self.path, isColumn: @escaping (String) throws -> Bool) {
    self.path = path
    self.isColumn = isColumn
  }

  /// Returns the variable that represents the value of a key path.
  static func variable(_ path: String) -> String { "source.\(path)" }

  /// Returns the key path from the evaluated object, in expressions of derived attributes.
  static func ownPath(_ expression: ExpressionSyntax) -> String? {
    switch expression {
    case .keyPath(let path), .keyPathOf(.evaluatedObject, let path): path
    default: nil
    }
  }

  /// Returns the key path in `$source.path`, `FUNCTION($source, "valueForKey:", "path")` and similar expressions.
  static func path(_ expression: ExpressionSyntax) -> String? {
    switch expression {
    case .keyPathOf(.variable("source"), let path): path
    case .function(.variable("source"), "valueForKey:", let arguments),
      .function(.variable("source"), "valueForKeyPath:", let arguments):
      if arguments.count == 1, case .constant(.string(let path)) = arguments[0] { path } else { nil }
    default: nil
    }
  }

  /// Returns the expression with variables in place of column values.
  mutating func reduced(_ expression: ExpressionSyntax) throws -> ExpressionSyntax {
    if let path = path(expression) {
      guard try isColumn(path) else {
        needsObject = true
        return expression
      }
      if !paths.contains(path) { paths.append(path) }
      return .variable(Self.variable(path))
    }
    switch expression {
    case .constant, .keyPath, .evaluatedObject, .anyKey: return expression
    case .variable(let name):
      note(variable: name)
      return expression
    case .keyPathOf(let operand, let path): return .keyPathOf(try reduced(operand), path)
    case .function(let operand, let name, let arguments):
      return .function(operand: try operand.map { try reduced($0) }, name: name, arguments: try reduced(arguments))
    case .aggregate(let elements): return .aggregate(try reduced(elements))
    case .union(let left, let right): return .union(try reduced(left), try reduced(right))
    case .intersect(let left, let right): return .intersect(try reduced(left), try reduced(right))
    case .minus(let left, let right): return .minus(try reduced(left), try reduced(right))
    case .subquery:
      // Its collection is a relationship of the object, or of an object reachable from it.
      needsObject = true
      return expression
    case .conditional(let condition, let whenTrue, let whenFalse):
      return .conditional(try reduced(condition), try reduced(whenTrue), try reduced(whenFalse))
    case .fetch:
      obstacle = "fetches objects"
      return expression
    }
  }

  private mutating func note(variable: String) {
    switch variable {
    case "source": needsObject = true
    case "entityMapping", "propertyMapping": break
    default: obstacle = "uses $\(variable)"
    }
  }

  private mutating func reduced(_ list: [ExpressionSyntax]) throws -> [ExpressionSyntax] {
    try list.map { try reduced($0) }
  }

  private mutating func reduced(_ predicate: PredicateSyntax) throws -> PredicateSyntax {
    switch predicate {
    case .constant: return predicate
    case .not(let part): return .not(try reduced(part))
    case .and(let parts): return .and(try parts.map { try reduced($0) })
    case .or(let parts): return .or(try parts.map { try reduced($0) })
    case .comparison(var comparison):
      comparison.left = try reduced(comparison.left)
      comparison.right = try reduced(comparison.right)
      return .comparison(comparison)
    }
  }
}

/// The destination of a key path from an object.
enum SourcePath {
  /// The column of an attribute, or of an element of a composite attribute.
  case column(BoundSQL, AttributeLayout, NSAttributeDescription)
  /// A composite attribute in the row with the given alias.
  case composite(AttributeLayout, NSAttributeDescription, alias: String)
  /// One or more objects.
  case relationship
  /// A property without a stored value, such as a transient attribute.
  case nothing
  /// A property that depends on the actual object, such as a sub-entity's, or an operator.
  case other

  /// Follows a key path, and joins the rows along it to the scope.
  ///
  /// - Throws: `SQLObstacle` for a key that the entity does not have.
  init(_ path: String, of start: NSEntityDescription, scope: SQLScope, in store: MappedStore) throws {
    var (alias, layout, entity) = (scope.alias, scope.entity, start)
    let names = path.split(separator: ".").map(String.init)
    for (position, name) in names.enumerated() {
      let rest = names[(position + 1)...]
      if let attribute = layout.attributes[name], let description = entity.attributesByName[name] {
        self = Self.attribute(attribute, description, rest, alias)
        return
      }
      guard let relationship = layout.relationships[name], let far = store.schema[relationship.destinationEntity],
        let farEntity = store.description(of: far)
      else {
        if position == 0, !name.hasPrefix("@"), entity.propertiesByName[name] == nil,
          !["self", "SELF", "objectID", "entity"].contains(name)
        {
          throw SQLObstacle("uses '\(name)', which '\(entity.name ?? "")' does not have")
        }
        self = entity.attributesByName[name]?.isTransient == true && rest.isEmpty ? .nothing : .other
        return
      }
      guard case .foreignKey(let key) = relationship.storage, !relationship.isToMany else {
        self = rest.isEmpty ? .relationship : .other
        return
      }
      if rest.isEmpty {
        self = .relationship
        return
      }
      alias = scope.join(key, of: alias, to: far)
      (layout, entity) = (far, farEntity)
    }
    self = .other
  }

  private static func attribute(
    _ layout: AttributeLayout, _ description: NSAttributeDescription, _ rest: ArraySlice<String>, _ alias: String
  ) -> SourcePath {
    if let name = rest.first {
      guard let element = layout.elements.first(where: { $0.name == name }),
        let inner = (description as? NSCompositeAttributeDescription)?.elements.first(where: { $0.name == name })
      else { return .other }
      return attribute(element, inner, rest.dropFirst(), alias)
    }
    guard let column = layout.column else { return .composite(layout, description, alias: alias) }
    return .column(BoundSQL("\(raw: alias).\(raw: SQLName.quoted(column))"), layout, description)
  }
}
