// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

extension PredicateSyntax {
  /// Returns the predicate with constants converted to the types of the attributes that they are compared with, as
  /// SQLite converts them for a column: a number compared with a string becomes a string, and a string compared with a
  /// number becomes a number if possible.
  ///
  /// The conversion happens before a predicate reaches a store or the in-memory evaluation, so that all give the same
  /// result.
  ///
  /// - Parameter entity: the entity of the evaluated objects.
  func convertingConstants(for entity: NSEntityDescription) -> PredicateSyntax {
    ConstantConversion(entity: entity).converted(self)
  }
}

extension NSPredicate {
  /// Returns the predicate, converted as by `PredicateSyntax.convertingConstants(for:)`. Blocks are unchanged.
  func convertingConstants(for entity: NSEntityDescription) -> NSPredicate {
    do {
      let syntax = try PredicateSyntax(self)
      let converted = syntax.convertingConstants(for: entity)
      return converted == syntax ? self : .make(converted)
    } catch {
      // It is or contains a block.
      guard let compound = self as? NSCompoundPredicate else { return self }
      return FormatCompoundPredicate(
        type: compound.compoundPredicateType,
        subpredicates: compound.subpredicates.map { $0.convertingConstants(for: entity) })
    }
  }
}

/// Converts the constants of a predicate to the types of attributes.
private struct ConstantConversion {
  private enum Kind {
    case text
    case number
    case decimal

    init?(_ type: NSAttributeType) {
      switch type {
      case .stringAttributeType: self = .text
      case .decimalAttributeType: self = .decimal
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
        .floatAttributeType, .booleanAttributeType:
        self = .number
      default: return nil
      }
    }
  }

  let entity: NSEntityDescription
  /// The entities of the variables of subqueries.
  var variables: [String: NSEntityDescription] = [:]

  func converted(_ predicate: PredicateSyntax) -> PredicateSyntax {
    switch predicate {
    case .constant: predicate
    case .and(let parts): .and(parts.map(converted))
    case .or(let parts): .or(parts.map(converted))
    case .not(let part): .not(converted(part))
    case .comparison(let comparison): .comparison(converted(comparison))
    }
  }

  private func converted(_ comparison: ComparisonSyntax) -> ComparisonSyntax {
    var result = comparison
    result.left = withinSubqueries(comparison.left)
    result.right = withinSubqueries(comparison.right)
    switch comparison.op {
    case .equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .between, .in:
      if let attribute = attribute(of: comparison.left) {
        result.right = constants(in: result.right, as: attribute.kind)
      } else if let attribute = attribute(of: comparison.right), comparison.op != .in || attribute.isOfMembers {
        result.left = constants(in: result.left, as: attribute.kind)
      }
    case .contains:
      if let attribute = attribute(of: comparison.left), attribute.isOfMembers {
        result.right = constants(in: result.right, as: attribute.kind)
      }
    case .beginsWith, .endsWith, .like, .matches, .customSelector: break
    }
    return result
  }

  private func withinSubqueries(_ expression: ExpressionSyntax) -> ExpressionSyntax {
    switch expression {
    // The common cases, which have no parts.
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return expression
    default: break
    }
    // `replacing` throws no errors of its own.
    return
      (try? expression.replacing { part in
        guard case .subquery(let collection, let variable, let predicate) = part else { return nil }
        var inner = self
        inner.variables[variable] = destination(of: collection)
        return .subquery(
          collection: withinSubqueries(collection), variable: variable, predicate: inner.converted(predicate))
      }) ?? expression
  }

  // MARK: Attributes

  /// Returns the kind of the attribute that an expression reads, and whether it belongs to the members of a
  /// relationship.
  private func attribute(of expression: ExpressionSyntax) -> (kind: Kind, isOfMembers: Bool)? {
    guard let (start, path) = path(of: expression) else { return nil }
    // The common case first: a key of the object.
    if let position = start.slotTable.position(of: path) {
      return Kind(start.slotTable.kinds[position]).map { ($0, false) }
    }
    var (source, isOfMembers) = (start, false)
    var keys = path.split(separator: ".").map(String.init)[...]
    while let key = keys.popFirst() {
      if key.caseInsensitiveCompare("self") == .orderedSame { continue }
      if let relationship = source.relationshipsByName[key], let destination = relationship.destinationEntity {
        isOfMembers = isOfMembers || relationship.isToMany
        source = destination
      } else if var attribute = source.attributesByName[key] {
        for name in keys {
          guard let composite = attribute as? NSCompositeAttributeDescription,
            let element = composite.elements.first(where: { $0.name == name })
          else { return nil }
          attribute = element
        }
        return Kind(attribute.attributeType).map { ($0, isOfMembers) }
      } else {
        return nil
      }
    }
    return nil
  }

  /// Returns the entity of a collection's members.
  private func destination(of expression: ExpressionSyntax) -> NSEntityDescription? {
    if case .subquery(let collection, _, _) = expression { return destination(of: collection) }
    guard let (start, path) = path(of: expression) else { return nil }
    return path.split(separator: ".").reduce(start) { source, key in
      source?.relationshipsByName[String(key)]?.destinationEntity
    }
  }

  private func path(of expression: ExpressionSyntax) -> (start: NSEntityDescription, path: String)? {
    switch expression {
    case .keyPath(let path), .keyPathOf(.evaluatedObject, let path): (entity, path)
    case .keyPathOf(.variable(let name), let path): variables[name].map { ($0, path) }
    default: nil
    }
  }

  // MARK: Constants

  private func constants(in expression: ExpressionSyntax, as kind: Kind) -> ExpressionSyntax {
    switch expression {
    case .constant(let value):
      Self.isConverted(value, to: kind) ? .constant(Self.converted(value, to: kind)) : expression
    case .aggregate(let elements): .aggregate(elements.map { constants(in: $0, as: kind) })
    default: expression
    }
  }

  private static func isConverted(_ value: PlainValue, to kind: Kind) -> Bool {
    switch value {
    case .integer, .boolean, .real, .decimal: kind == .text
    case .string: kind != .text
    case .array(let elements), .set(let elements): elements.contains { isConverted($0, to: kind) }
    case .null, .date, .data, .uuid, .url, .dictionary, .object: false
    }
  }

  private static func converted(_ value: PlainValue, to kind: Kind) -> PlainValue {
    switch (kind, value) {
    case (.text, .integer(let number)): .string(String(number))
    case (.text, .boolean(let truth)): .string(truth ? "1" : "0")
    case (.text, .real(let number)): text(number).map { .string($0) } ?? value
    case (.text, .decimal(let number)): text(number).map { .string($0) } ?? value
    case (.number, .string(let text)): number(text) ?? value
    case (.decimal, .string(let text)): decimal(text) ?? value
    case (_, .array(let elements)): .array(elements.map { converted($0, to: kind) })
    case (_, .set(let elements)): .set(elements.map { converted($0, to: kind) })
    default: value
    }
  }

  /// Returns the text of a number in SQLite, which includes a fraction for every real number.
  private static func text(_ number: Double) -> String? {
    guard number.isFinite else { return nil }
    let digits = String(format: "%.15g", number)
    if digits.contains(".") { return digits }
    guard let exponent = digits.firstIndex(of: "e") else { return digits + ".0" }
    return digits[..<exponent] + ".0" + digits[exponent...]
  }

  private static func text(_ number: Decimal) -> String? {
    switch number.isNaN ? .null : StoredDecimal.number(NSDecimalNumber(decimal: number)) {
    case .integer(let whole): String(whole)
    case .real(let real): text(real)
    default: nil
    }
  }

  private static func number(_ text: String) -> PlainValue? {
    guard let digits = digits(text) else { return nil }
    return Int64(digits).map { .integer($0) } ?? Double(digits).map { .real($0) }
  }

  private static func decimal(_ text: String) -> PlainValue? {
    guard let digits = digits(text), Double(digits) != nil else { return nil }
    return Int64(digits).map { .integer($0) } ?? Decimal(string: digits).map { .decimal($0) }
  }

  /// Returns a string without surrounding spaces; nil if it contains characters that do not occur in numbers.
  private static func digits(_ text: String) -> String? {
    let digits = text.trimmingCharacters(in: .whitespacesAndNewlines)
    return digits.isEmpty || digits.utf8.contains(where: { !"0123456789+-.eE".utf8.contains($0) }) ? nil : digits
  }
}
