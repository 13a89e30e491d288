// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Parts of a model in words.
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
    case .date(let date): return StoredDate.text(date.timeIntervalSinceReferenceDate)
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

  /// A fetch request with all that makes it find something else, each said in one way: two requests are the same where
  /// their texts are.
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

extension AttributeKind {
  /// Whether the values are numbers, which Core Data converts into one another.
  var isNumber: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
    default: false
    }
  }
}

extension DeleteRuleKind {
  /// The rule in words.
  package var words: String {
    switch self {
    case .noAction: "no action"
    case .nullify: "nullify"
    case .cascade: "cascade"
    case .deny: "deny"
    }
  }
}
