// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads a mapping model in text form, as described by `MappingTextWriter`.
struct MappingTextReader {
  private let file: URL
  private var number = 0
  private var document = MappingDocument()

  /// Reads the text form.
  /// - Throws: `ModelFileError` with the line number.
  static func document(of data: Data, file: URL) throws -> MappingDocument {
    guard let text = String(validating: data, as: UTF8.self) else {
      throw ModelFileError(
        .unsupportedFile, found: "The file is not UTF-8 text.", advice: "Name a mapping model.", file: file)
    }
    var reader = MappingTextReader(file: file)
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
      reader.number += 1
      try reader.read(line)
    }
    guard !reader.document.entityMappings.isEmpty else {
      throw ModelFileError(
        .missingContents, found: "The file contains no entity mapping.", advice: "Check that it is a mapping model.",
        file: file)
    }
    return reader.document
  }

  private init(file: URL) { self.file = file }

  private mutating func read(_ line: Substring) throws {
    let content = line.drop { $0 == " " || $0 == "\t" }
    guard let first = content.first, first != "#" else { return }
    let indentation = line.count - content.count
    if indentation == 0 {
      content.hasPrefix("versions ") ? try readVersions(content.dropFirst(9)) : try readMapping(content)
    } else if document.entityMappings.isEmpty {
      throw failure(
        "There is an indented line before the first entity mapping", "Begin with NAME   TYPE   SOURCE -> DESTINATION.")
    } else if indentation < 4 {
      try readPart(content)
    } else {
      try readNote(content)
    }
  }

  private mutating func readVersions(_ text: Substring) throws {
    var rest = text
    let from = try name(&rest)
    guard let after = arrow(rest) else { throw failure("\"->\" is missing", "Write: versions \"A\" -> \"B\".") }
    rest = after
    let to = try name(&rest)
    try checkEnd(rest)
    (document.sourceVersionName, document.destinationVersionName) = (from, to)
  }

  private mutating func readMapping(_ text: Substring) throws {
    var rest = text
    let name = try self.name(&rest)
    rest = trimmed(rest)
    let word = rest.prefix { $0 != " " }
    guard let kind = EntityMappingKind(word: String(word)) else {
      throw failure(
        "\"\(excerpt(word))\" is not a type of entity mapping",
        "Types are add, remove, copy, transform, custom and undefined.")
    }
    rest = trimmed(rest.dropFirst(word.count))
    var (source, destination): (String?, String?) = (nil, nil)
    if arrow(rest) == nil { source = try self.name(&rest) }
    guard let after = arrow(rest) else { throw failure("\"->\" is missing", "Write: SOURCE -> DESTINATION.") }
    rest = after
    if !rest.isEmpty { destination = try self.name(&rest) }
    try checkEnd(rest)
    guard source != nil || destination != nil else {
      throw failure("The entity mapping has neither a source nor a destination", "Name one of them.")
    }
    var mapping = EntityMappingDocument(
      name: name, kind: kind, sourceEntityName: source, destinationEntityName: destination)
    mapping.sourceExpression = source.map { MappingExpressions.sourceObjects(entity: $0) }
    document.entityMappings.append(mapping)
  }

  private mutating func readPart(_ text: Substring) throws {
    let last = document.entityMappings.count - 1
    var rest = text
    let title = try name(&rest)
    rest = trimmed(rest)
    for kind in ["attribute", "relationship"] where rest == kind || rest.hasPrefix(kind + " ") {
      let value = trimmed(rest.dropFirst(kind.count))
      let property = PropertyMappingDocument(name: title, valueExpression: try expression(value))
      if kind == "attribute" {
        document.entityMappings[last].attributeMappings.append(property)
      } else {
        document.entityMappings[last].relationshipMappings.append(property)
      }
      isAfterAttribute = kind == "attribute"
      return
    }
    isAfterAttribute = nil
    switch title {
    case "policy":
      document.entityMappings[last].policyClassName = try name(&rest)
      try checkEnd(rest)
    case "filter":
      guard let entity = document.entityMappings[last].sourceEntityName else {
        throw failure("A mapping without a source entity has a filter", "Remove the line.")
      }
      let filter = try MappingLiteral.unquotedLine(String(rest)) ?? String(rest)
      do {
        _ = try PredicateParser.parse(filter)
      } catch {
        throw failure("The filter cannot be read: \(error)", "Correct it.")
      }
      document.entityMappings[last].sourceExpression = MappingExpressions.sourceObjects(entity: entity, filter: filter)
    case "drops":
      guard let names = MappingLiteral.names(rest) else {
        throw failure("\"\(excerpt(rest))\" is not a list of properties", "Write: drops  NAME, NAME.")
      }
      document.entityMappings[last].userInfo[EntityMappingDocument.dropsKey] = .string(names)
    case "objects": document.entityMappings[last].sourceExpression = try expression(rest)
    case "note":
      let (key, value) = try note(rest)
      document.entityMappings[last].userInfo[key] = value
    default:
      throw failure(
        "\"\(excerpt(title))\" is neither policy, filter, objects, drops or note, nor a property",
        "Properties are NAME  attribute  EXPRESSION or NAME  relationship  EXPRESSION.")
    }
  }

  /// Whether the last line was an attribute; nil if it was not a property.
  private var isAfterAttribute: Bool?

  private mutating func readNote(_ text: Substring) throws {
    guard let isAfterAttribute else {
      throw failure("The line is indented like user info of a property, but follows none", "Indent it by two spaces.")
    }
    let (key, value) = try note(text)
    let last = document.entityMappings.count - 1
    if isAfterAttribute {
      document.entityMappings[last].attributeMappings[document.entityMappings[last].attributeMappings.count - 1]
        .userInfo[key] = value
    } else {
      document.entityMappings[last].relationshipMappings[document.entityMappings[last].relationshipMappings.count - 1]
        .userInfo[key] = value
    }
  }

  // MARK: Parts of lines

  private func note(_ text: Substring) throws -> (String, PlainValue) {
    var rest = text
    let key = try name(&rest)
    rest = trimmed(rest)
    guard rest.first == "=" else { throw failure("\"=\" is missing", "Write: KEY = VALUE.") }
    do {
      return (key, try MappingLiteral.value(of: String(trimmed(rest.dropFirst()))))
    } catch let problem as MappingLiteral.Unreadable {
      throw failure("The value of \(excerpt(key)) cannot be read: \(problem.found)", "Write a value as in JSON.")
    }
  }

  private func expression(_ text: Substring) throws -> ExpressionSyntax? {
    if text == MappingTextWriter.none || text.isEmpty { return nil }
    if text.hasPrefix(MappingTextWriter.constant) {
      do {
        return .constant(try MappingLiteral.value(of: String(text.dropFirst(MappingTextWriter.constant.count))))
      } catch let problem as MappingLiteral.Unreadable {
        throw failure("The constant cannot be read: \(problem.found)", "Write a value as in JSON.")
      }
    }
    do {
      return try PredicateParser.parseExpression(String(text))
    } catch {
      throw failure("The expression cannot be read: \(error)", "Correct it, or write \"\(MappingTextWriter.none)\".")
    }
  }

  /// Reads a name at the start of a text: a word or a quoted string.
  private func name(_ text: inout Substring) throws -> String {
    text = trimmed(text)
    do {
      let (name, rest) = try MappingLiteral.leadingName(text)
      text = rest
      return name
    } catch let problem as MappingLiteral.Unreadable {
      throw failure(problem.found, "Quote names with characters other than letters, digits, _, . and -.")
    }
  }

  /// Returns the text after an arrow at the start of a text, or nil if there is no arrow.
  private func arrow(_ text: Substring) -> Substring? {
    let text = trimmed(text)
    return text.hasPrefix("->") ? trimmed(text.dropFirst(2)) : nil
  }

  private func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }

  private func checkEnd(_ text: Substring) throws {
    guard trimmed(text).isEmpty else {
      throw failure("\"\(excerpt(trimmed(text)))\" is not expected here", "Remove it.")
    }
  }

  /// Returns the beginning of a text, short enough for an error message.
  private func excerpt(_ text: some StringProtocol) -> String {
    text.count > 80 ? "\(text.prefix(80))…" : String(text)
  }

  private func failure(_ found: String, _ advice: String) -> ModelFileError {
    ModelFileError(.unreadableValue, found: found + ".", advice: advice, file: file, line: number)
  }
}

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
///       drops  note, legacy
///       title   attribute     $source.name
///         why = "renamed"
///       lines   relationship  FUNCTION($manager, …)
///       total   attribute     no expression
///       kind    attribute     nil
///
/// The first line contains the name, the type (`add`, `remove`, `copy`, `transform`, `custom`, `undefined`) and the
/// entities: `Order ->` removes, `-> Order` adds. Columns are separated by two or more spaces. The other lines are
/// indented by two spaces: `policy`, `filter` (a predicate), `objects` (an expression for the source objects, unless
/// they are all objects or those of a filter), `drops` (source properties whose values may be lost), `note KEY = VALUE`
/// (user info), and a line for each property. Lines with more indentation are user info of the property above. Names
/// with characters other than letters, digits, `_`, `.` and `-` are quoted as in JSON. User info values are JSON with
/// `date(…)`, `data(…)`, `uuid(…)`, `url(…)`, `decimal(…)` and `set[…]`. Such a value after `constant` is an expression
/// for a constant that the predicate format language cannot express. Version hashes are not part of the text; compiling
/// takes them from the two versions.
struct MappingTextWriter {
  /// Returns the text form of a mapping model.
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
      if key == EntityMappingDocument.dropsKey, case .string(let text) = value, MappingLiteral.names(text[...]) == text
      {
        lines.append("  drops  \(text)")
        continue
      }
      lines.append("  note  \(MappingLiteral.name(key)) = \(try MappingLiteral.text(of: value, place: mapping.name))")
    }
    let properties =
      mapping.attributeMappings.sorted { $0.name < $1.name }.map { (MappingLiteral.name($0.name), "attribute", $0) }
      + mapping.relationshipMappings.sorted { $0.name < $1.name }
      .map { (MappingLiteral.name($0.name), "relationship", $0) }
    let width = properties.map(\.0.count).max() ?? 0
    let kinds = mapping.relationshipMappings.isEmpty ? "attribute".count : "relationship".count
    for (name, kind, property) in properties {
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
    // Text that cannot be parsed, or that parses to another expression, is not used: `YES` would become 1.
    if (try? PredicateParser.parseExpression(text)) == expression { return text }
    guard case .constant(let value) = expression else { return PredicatePrinter(style: .exact).format(expression) }
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
  /// The mapping normalized to what the text form can express: properties sorted by name, sets in a fixed order, no
  /// hashes.
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
  /// The name of the type in the text form, as in `NSEntityMappingType`.
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
