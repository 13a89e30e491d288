// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Descriptions of parts of a model as text.
enum AspectText {
  static func flag(_ value: Bool) -> String { value ? "yes" : "no" }

  static func name(_ value: String?) -> String {
    guard let value, !value.isEmpty else { return "none" }
    return value
  }

  static func lists(_ values: [[String]]) -> String {
    values.isEmpty ? "none" : values.map { "(\($0.joined(separator: ", ")))" }.sorted().joined(separator: ", ")
  }

  static func value(_ value: PlainValue?) -> String {
    guard let value else { return "none" }
    switch value {
    case .null: return "null"
    case .boolean(let flag): return flag ? "true" : "false"
    case .integer(let number): return String(number)
    case .real(let number):
      return Int64(exactly: number).map { String($0) } ?? String(number)
    case .decimal(let number): return number.description
    case .string(let text): return "\"\(text)\""
    case .date(let date): return DateText.text(date.timeIntervalSinceReferenceDate)
    case .data(let data): return "\(data.count) bytes \(data.prefix(16).base64EncodedString())"
    case .uuid(let uuid): return uuid.uuidString
    case .url(let url): return url.absoluteString
    case .array(let elements):
      return "{" + elements.map { Self.value($0) }.joined(separator: ", ") + "}"
    case .set(let elements):
      return "{" + elements.map { Self.value($0) }.sorted().joined(separator: ", ") + "}"
    case .dictionary(let entries):
      return "{"
        + entries.sorted { $0.key < $1.key }.map { "\($0.key): \(Self.value($0.value))" }.joined(separator: ", ")
        + "}"
    case .object(let object):
      return (object.value.base as? ArchivedInstance).map { "an object of the class \($0.className)" } ?? "an object"
    }
  }

  static func attribute(_ attribute: AttributeDocument) -> String {
    var parts = [attribute.kind.title, attribute.isOptional ? "optional" : "required"]
    if attribute.isTransient { parts.append("transient") }
    if attribute.derivation != nil { parts.append("derived") }
    if let value = attribute.defaultValue { parts.append("default \(Self.value(value))") }
    if attribute.allowsExternalBinaryDataStorage { parts.append("external storage") }
    return parts.joined(separator: ", ")
  }

  static func relationship(_ relationship: RelationshipDocument) -> String {
    var parts = [
      (relationship.isToMany ? "to-many" : "to-one") + " " + name(relationship.destinationEntityName),
      relationship.isOptional ? "optional" : "required",
    ]
    if relationship.isOrdered { parts.append("ordered") }
    if relationship.isTransient { parts.append("transient") }
    return parts.joined(separator: ", ")
  }

  /// Returns a canonical description of a fetch request: two requests are equal if their descriptions are.
  static func request(_ request: FetchRequestDocument) -> String {
    var parts = ["of \(name(request.entityName))"]
    if let predicate = request.predicate.map(\.canonical), predicate != .constant(true) {
      parts.append("where \(PredicatePrinter().format(predicate))")
    }
    if !request.sortKeys.isEmpty {
      let keys = request.sortKeys.map { $0.keyPath + ($0.ascending ? "" : " descending") }
      parts.append("by \(keys.joined(separator: ", "))")
    }
    if request.fetchLimit > 0 { parts.append("limit \(request.fetchLimit)") }
    if request.fetchBatchSize > 0 { parts.append("batch size \(request.fetchBatchSize)") }
    if request.resultType != 0 { parts.append("result type \(request.resultType)") }
    if !request.includesSubentities { parts.append("without sub-entities") }
    if !request.includesPropertyValues { parts.append("without values") }
    if !request.returnsObjectsAsFaults { parts.append("no faults") }
    if request.returnsDistinctResults { parts.append("distinct") }
    if !request.includesPendingChanges { parts.append("without unsaved changes") }
    return parts.joined(separator: " ")
  }

  static func entity(_ entity: EntityDocument) -> String {
    let count = entity.attributes.count + entity.relationships.count + entity.fetchedProperties.count
    var parts = [count == 1 ? "1 property" : "\(count) properties"]
    if entity.isAbstract { parts.append("abstract") }
    if let parent = entity.parentName { parts.append("inherits from \(parent)") }
    return parts.joined(separator: ", ")
  }

  static func index(_ index: FetchIndexDocument) -> String {
    let elements = index.elements.map { element in
      (element.expression == nil ? element.propertyName : "expression")
        + (element.isRTree ? " r-tree" : "") + (element.isAscending ? "" : " descending")
    }
    return "on " + elements.joined(separator: ", ") + (index.partialIndexPredicate == nil ? "" : ", partial")
  }
}

extension DeleteRuleKind {
  /// The delete rule as text.
  package var text: String {
    switch self {
    case .noAction: "no action"
    case .nullify: "nullify"
    case .cascade: "cascade"
    case .deny: "deny"
    }
  }
}

/// Collects the changes of one property.
struct AspectRecorder {
  let comparison: EntityComparison
  let property: String
  let source: String
  let subject: ModelChange.Subject
  /// Whether the property is stored in either version; version hashes ignore transient properties.
  let isStored: Bool
  private(set) var changes: [ModelChange] = []

  mutating func renamed() {
    record(.renamed(from: source), hashed: true, migration: .inferred)
  }

  mutating func compare(
    _ aspect: ModelAspect, _ before: Bool, _ after: Bool, hashed: Bool = false, migration: MigrationDemand = .inferred
  ) {
    compare(aspect, AspectText.flag(before), AspectText.flag(after), hashed: hashed, migration: migration)
  }

  /// - Parameter evenIfEqual: whether to record a change even if both texts are equal.
  mutating func compare(
    _ aspect: ModelAspect, _ before: String, _ after: String, hashed: Bool = false, evenIfEqual: Bool = false,
    migration: MigrationDemand = .inferred
  ) {
    guard before != after || evenIfEqual else { return }
    record(.changed(aspect, from: before, to: after), hashed: hashed, migration: migration)
  }

  mutating func compareModifiers(_ before: String?, _ after: String?) {
    compare(.versionHashModifier, AspectText.name(before), AspectText.name(after), hashed: true)
  }

  /// Ignores a renaming identifier that equals the name.
  mutating func compareIdentifiers(_ before: String?, _ after: String?) {
    guard source == property else { return }
    let (before, after) = (before == source ? nil : before, after == property ? nil : after)
    compare(.renamingIdentifier, AspectText.name(before), AspectText.name(after))
  }

  mutating func compareUserInfo(_ before: [String: PlainValue], _ after: [String: PlainValue]) {
    guard before != after else { return }
    compare(.userInfo, AspectText.value(.dictionary(before)), AspectText.value(.dictionary(after)))
  }

  private mutating func record(_ kind: ModelChange.Kind, hashed: Bool, migration: MigrationDemand) {
    let isHashed = hashed && isStored
    changes.append(
      comparison.change(
        property, source, subject, kind, hashed: isHashed, migration: isHashed ? migration : .none))
  }
}

extension PredicateSyntax {
  /// The predicate in a canonical form: without redundant parentheses, `NOT NOT` and `SELF.`, and with lists of
  /// constants as constants.
  var canonical: PredicateSyntax {
    switch self {
    case .constant: return self
    case .comparison(var comparison):
      comparison.left = comparison.left.canonical
      comparison.right = comparison.right.canonical
      return .comparison(comparison)
    case .and(let parts):
      let flat = parts.map(\.canonical).flatMap { if case .and(let inner) = $0 { inner } else { [$0] } }
      return flat.count == 1 ? flat[0] : .and(flat)
    case .or(let parts):
      let flat = parts.map(\.canonical).flatMap { if case .or(let inner) = $0 { inner } else { [$0] } }
      return flat.count == 1 ? flat[0] : .or(flat)
    case .not(let inner):
      let inner = inner.canonical
      if case .not(let twice) = inner { return twice }
      return .not(inner)
    }
  }
}

extension ExpressionSyntax {
  /// Like `PredicateSyntax.canonical`.
  fileprivate var canonical: ExpressionSyntax {
    switch self {
    case .constant, .evaluatedObject, .variable, .keyPath, .anyKey: return self
    case .keyPathOf(let object, let path):
      let object = object.canonical
      return object == .evaluatedObject ? .keyPath(path) : .keyPathOf(object, path)
    case .function(let operand, let name, let arguments):
      return .function(operand: operand?.canonical, name: name, arguments: arguments.map(\.canonical))
    case .aggregate(let elements):
      let elements = elements.map(\.canonical)
      let constants = elements.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == elements.count ? .constant(.array(constants)) : .aggregate(elements)
    case .union(let left, let right): return .union(left.canonical, right.canonical)
    case .intersect(let left, let right): return .intersect(left.canonical, right.canonical)
    case .minus(let left, let right): return .minus(left.canonical, right.canonical)
    case .subquery(let collection, let variable, let predicate):
      return .subquery(collection: collection.canonical, variable: variable, predicate: predicate.canonical)
    case .conditional(let predicate, let left, let right):
      return .conditional(predicate.canonical, left.canonical, right.canonical)
    case .fetch(let request, let context, let countOnly):
      return .fetch(request: request.canonical, context: context.canonical, countOnly: countOnly)
    }
  }
}

/// Dates as stored: seconds since the start of 2001, UTC.
package enum DateText {
  /// Days from 1970 to 2001.
  static let epochDays: Int64 = 11323

  /// Returns the date in ISO 8601 with six digits for fractions of a second, such as `2014-09-09T18:43:05.261936Z`.
  ///
  /// Foundation's formatter supports only milliseconds, and stored dates are more precise. Years beyond four digits get
  /// a sign, as the standard requires.
  package static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return String(seconds) }
    var whole = seconds.rounded(.down)
    var micros = ((seconds - whole) * 1_000_000).rounded()
    if micros >= 1_000_000 {
      whole += 1
      micros = 0
    }
    let total = Int64(whole)
    let days = Int64((Double(total) / 86_400).rounded(.down))
    let clock = total - days * 86_400
    let (year, month, day) = civil(daysSince1970: days + epochDays)
    let yearText = (0...9999).contains(year) ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(abs(year), 6)
    let time = [clock / 3600, clock / 60 % 60, clock % 60].map { padded($0, 2) }.joined(separator: ":")
    return "\(yearText)-\(padded(month, 2))-\(padded(day, 2))T\(time).\(padded(Int64(micros), 6))Z"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Returns year, month and day of the proleptic Gregorian calendar, computed in periods of 400 years that begin in
  /// March.
  private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
