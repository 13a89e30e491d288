// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Writes a mapping model as a text (`.mapping`) that people can review and merge, and that `MappingTextReader` reads.
///
/// One entity mapping a paragraph, in the order of processing:
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
/// The first line has the name, the type (`add`, `remove`, `copy`, `transform`, `custom`, `undefined`) and the entities; `Order ->`
/// removes, `-> Order` adds. Columns are apart by two spaces or more. Lines of a mapping are indented by two spaces: `policy`, `filter`
/// (a predicate), `objects` (an expression that gives the source objects, where it is not all or a filter's), `note KEY = VALUE` (user
/// info), and a line for each property. What is indented deeper is user info of the property above. Names with other characters than
/// letters, digits, `_`, `.` and `-` are quoted like JSON; values of user info are JSON with `date(…)`, `data(…)`, `uuid(…)`, `url(…)`,
/// `decimal(…)` and `set[…]`. Such a value after `constant` is an expression, for constants that the format language of predicates cannot
/// say. Version hashes are not part of the text: compiling takes them from the two versions.
struct MappingTextWriter {
  /// The text of a mapping model.
  ///
  /// - Parameter comment: the first line, as a comment.
  /// - Throws: `ModelFileError` where the text would be read as something else.
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

  /// What stands in the place of an expression where there is none.
  static let none = "no expression"

  /// What begins a constant that the format language of predicates has no text for.
  static let constant = "constant "

  private static func expression(_ expression: ExpressionSyntax?, _ place: String) throws -> String {
    guard let expression else { return none }
    let text = PredicatePrinter().format(expression)
    // A text that does not parse is no way to say a constant; there is another.
    guard case .constant(let value) = expression, (try? PredicateParser.parseExpression(text)) != expression else {
      return text
    }
    return constant + (try MappingLiteral.text(of: value, place: place))
  }

  /// Refuses what would be read as something else.
  private static func check(_ text: String, _ document: MappingDocument) throws {
    let back = try MappingTextReader.document(of: Data(text.utf8), file: URL(fileURLWithPath: "text.mapping"))
    for (written, wanted) in zip(back.entityMappings, document.entityMappings) where written != wanted.asText {
      throw ModelFileError(
        .unreadableExpression,
        found: "The entity mapping \(wanted.name) cannot be said as text: it would be read as another.",
        advice: "Write a compiled mapping model (.cdm) instead.", entity: wanted.destinationEntityName)
    }
  }
}

extension EntityMappingDocument {
  /// What a text says of the mapping: properties by name, sets in one order, and no hashes.
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
  /// The kind in one word, as `Copy` in `NSEntityMappingType`.
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
