// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a mapping model as text (`.mapping`) for review and merging. `MappingTextReader` reads it.
///
/// Every entity mapping is a paragraph, in processing order:
///
///     # a comment, up to the end of the line
///     versions "Shop" -> "Shop 2"
///
///     OrderToOrder   transform   Order -> Order
///       policy  Shop.OrderPolicy
///       filter  total > 0
///       title   attribute     $source.name
///         why = "renamed"
///       lines   relationship  FUNCTION($manager, …)
///       total   attribute     no expression
///
/// The first line contains the name, the type (`add`, `remove`, `copy`, `transform`, `custom`, `undefined`) and the
/// entities: `Order ->` removes, `-> Order` adds. Columns are separated by two or more spaces. The other lines are
/// indented by two spaces: `policy`, `filter` (a predicate), `objects` (an expression for the source objects, unless
/// they are all objects or those of a filter), `note KEY = VALUE` (user info), and a line for each property. Lines with
/// more indentation are user info of the property above. Names with characters other than letters, digits, `_`, `.` and
/// `-` are quoted as in JSON. User info values are JSON with `date(…)`, `data(…)`, `uuid(…)`, `url(…)`, `decimal(…)`
/// and `set[…]`. Such a value after `constant` is an expression for a constant that the predicate format language
/// cannot express. Version hashes are not part of the text; compiling takes them from the two versions.
struct MappingTextWriter {
  /// Returns the text of a mapping model.
  ///
  /// - Parameter comment: A comment for the first line.
  /// - Throws: `ModelFileError` if the text would be read as a different mapping model.
  static func text(of document: MappingDocument, comment: String? = nil) throws -> String {
    var lines: [String] = comment.map { ["# \($0)"] } ?? []
    if let from = document.sourceVersionName, let to = document.destinationVersionName {
      lines.append("versions \(MappingLiteral.quoted(from)) -> \(MappingLiteral.quoted(to))")
    }
    for mapping in document.entityMappings {
      if !lines.isEmpty { lines.append("") }
      lines += try Self.lines(of: mapping)
    }
    let text = lines.joined(separator: "\n") + "\n"
    try check(text, document)
    return text
  }

  private static func lines(of mapping: EntityMappingDocument) throws -> [String] {
    let ends = [mapping.sourceEntityName, mapping.destinationEntityName].map { $0.map(MappingLiteral.name) ?? "" }
    let arrow = "\(ends[0]) -> \(ends[1])".trimmingCharacters(in: .whitespaces)
    var lines = ["\(MappingLiteral.name(mapping.name))   \(mapping.kind.word)   \(arrow)"]
    if let policy = mapping.policyClassName { lines.append("  policy  \(MappingLiteral.name(policy))") }
    if let filter = mapping.filter { lines.append("  filter  \(MappingLiteral.line(filter))") }
    let usual = mapping.sourceEntityName.map { MappingExpressions.sourceObjects(entity: $0, filter: mapping.filter) }
    if mapping.sourceExpression != usual {
      lines.append("  objects  \(try expression(mapping.sourceExpression, mapping.name))")
    }
    for (key, value) in mapping.userInfo.sorted(by: { $0.key < $1.key }) {
      lines.append("  note  \(MappingLiteral.name(key)) = \(try MappingLiteral.text(of: value, place: mapping.name))")
    }
    let properties =
      mapping.attributeMappings.sorted { $0.name < $1.name }.map { (MappingLiteral.name($0.name), "attribute", $0) }
      + mapping.relationshipMappings.sorted { $0.name < $1.name }
      .map { (MappingLiteral.name($0.name), "relationship", $0) }
    let width = properties.map(\.0.count).max() ?? 0
    for (name, kind, property) in properties {
      let kinds = properties.contains { $0.1 == "relationship" } ? "relationship".count : "attribute".count
      let value = try expression(property.valueExpression, mapping.name)
      lines.append("  \(padded(name, to: width))  \(padded(kind, to: kinds))  \(value)")
      for (key, value) in property.userInfo.sorted(by: { $0.key < $1.key }) {
        lines.append("    \(MappingLiteral.name(key)) = \(try MappingLiteral.text(of: value, place: mapping.name))")
      }
    }
    return lines
  }

  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// The text for a missing expression.
  static let none = "no expression"

  /// The prefix of a constant that the predicate format language cannot express.
  static let constant = "constant "

  private static func expression(_ expression: ExpressionSyntax?, _ place: String) throws -> String {
    guard let expression else { return none }
    let text = PredicatePrinter().format(expression)
    // If the format does not parse back to the constant, use the other form.
    guard case .constant(let value) = expression, (try? PredicateParser.parseExpression(text)) != expression else {
      return text
    }
    return constant + (try MappingLiteral.text(of: value, place: place))
  }

  /// Throws an error if the text would be read as a different mapping model.
  private static func check(_ text: String, _ document: MappingDocument) throws {
    let back = try MappingTextReader.document(of: Data(text.utf8), file: URL(fileURLWithPath: "text.mapping"))
    for (written, wanted) in zip(back.entityMappings, document.entityMappings) where written != wanted.asText {
      throw ModelFileError(
        .unreadableExpression,
        found: "The entity mapping \(wanted.name) cannot be expressed as text: it would be read differently.",
        advice: "Write a compiled mapping model (.cdm) instead.", entity: wanted.destinationEntityName)
    }
  }
}

extension EntityMappingDocument {
  /// The mapping in the form that a text expresses: properties sorted by name, sets in a fixed order, no hashes.
  package var asText: EntityMappingDocument {
    var plain = self
    (plain.sourceEntityVersionHash, plain.destinationEntityVersionHash) = (nil, nil)
    plain.userInfo = userInfo.mapValues(MappingLiteral.ordered)
    func sorted(_ mappings: [PropertyMappingDocument]) -> [PropertyMappingDocument] {
      mappings.sorted { $0.name < $1.name }.map {
        PropertyMappingDocument(
          name: $0.name, valueExpression: $0.valueExpression, userInfo: $0.userInfo.mapValues(MappingLiteral.ordered))
      }
    }
    plain.attributeMappings = sorted(attributeMappings)
    plain.relationshipMappings = sorted(relationshipMappings)
    return plain
  }
}

extension EntityMappingKind {
  /// The name of the type, as in `NSEntityMappingType`.
  package var word: String {
    switch self {
    case .undefined: "undefined"
    case .custom: "custom"
    case .add: "add"
    case .remove: "remove"
    case .copy: "copy"
    case .transform: "transform"
    }
  }

  init?(word: String) {
    guard
      let kind = [.undefined, .custom, .add, .remove, .copy, .transform].first(where: { (kind: Self) in
        kind.word == word
      })
    else { return nil }
    self = kind
  }
}
