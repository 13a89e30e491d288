// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates

/// Failures of a step with a mapping model that can be predicted from its expressions and the store's rows: values of a
/// type that the attribute cannot hold, and required properties without a value.
///
/// Entity mappings with a migration policy are not examined.
struct MappingFailures {
  private enum Reason: Hashable {
    /// A copied value whose type cannot be converted to the attribute's.
    case type(from: String, to: String)
    case constant(String, to: String)
    /// A required property without an expression.
    case unset
    case setToNil
    /// A required property that is copied from rows without a value.
    case empty
  }

  private struct Item {
    let reason: Reason
    let owner: String
    let property: String
    let isRelationship: Bool
    let mapping: String
    /// The number of affected values or rows; nil if they were not counted.
    let count: Int?
    let level: Finding.Level
    /// The condition for the failure; nil if it is certain.
    let condition: String?
  }

  private let old: EntityIndex
  private let new: EntityIndex
  /// The entity mappings that create objects, by the entities of those objects.
  private let creators: [String: [EntityMappingDocument]]
  private let hasPolicies: Bool
  /// The store's rows; nil if only the models are examined, which is like a store with rows in every entity.
  private let counts: StoreCounts?
  private var items: [Item] = []
  /// The required relationships that every migrated row has, with the entities that declare them.
  private(set) var complete: Set<[String]> = []
  /// The required relationships for which this is unknown.
  private var undecided: Set<[String]> = []

  init(_ mapping: MappingDocument, from old: ModelDocument, to new: ModelDocument, counts: StoreCounts?) {
    let mappings = mapping.entityMappings.filter(\.carriesObjects)
    let index = EntityIndex(new)
    (self.old, self.new, self.counts) = (EntityIndex(old), index, counts)
    creators = mappings.reduce(into: [:]) { creators, mapping in
      for entity in index.lineage(of: mapping.destinationEntityName ?? "") {
        creators[entity.name, default: []].append(mapping)
      }
    }
    hasPolicies = mapping.entityMappings.contains(where: \.hasPolicy)
    for mapping in mappings {
      if mapping.hasPolicy { leaveOpen(mapping) } else { judge(mapping) }
    }
    complete.subtract(items.map { [$0.owner, $0.property] })
    complete.subtract(undecided)
  }

  /// The failures, one for each reason and property.
  var findings: [Finding] {
    Dictionary(grouping: items) { [AnyHashable($0.owner), AnyHashable($0.property), AnyHashable($0.reason)] }.values
      .compactMap(finding)
  }

  private mutating func judge(_ mapping: EntityMappingDocument) {
    let (sources, isFiltered) = sources(of: mapping)
    let rows = counts.map { counts in sources.reduce(0) { $0 + (counts.rows[$1] ?? 0) } }
    let filter = isFiltered ? "unless the mapping's filter leaves them out" : nil
    for owner in new.lineage(of: mapping.destinationEntityName ?? "") {
      for attribute in owner.attributes
      where !attribute.isTransient && attribute.derivation == nil && attribute.kind != .composite {
        judge(attribute, owner.name, mapping, sources, rows, filter)
      }
      for relationship in owner.relationships
      where !relationship.isOptional && !relationship.isTransient && !relationship.isToMany {
        judge(relationship, owner.name, mapping, sources, rows, filter)
      }
    }
  }

  private mutating func leaveOpen(_ mapping: EntityMappingDocument) {
    for owner in new.lineage(of: mapping.destinationEntityName ?? "") {
      undecided.formUnion(owner.relationships.map { [owner.name, $0.name] })
    }
  }

  // MARK: Attributes

  private mutating func judge(
    _ attribute: AttributeDocument, _ owner: String, _ mapping: EntityMappingDocument, _ sources: [String],
    _ rows: Int?, _ filter: String?
  ) {
    func add(_ reason: Reason, _ count: Int?, isKnown: Bool = true, _ condition: String?) {
      items.append(
        Item(
          reason: reason, owner: owner, property: attribute.name, isRelationship: false, mapping: mapping.name,
          count: count, level: isKnown && condition == nil ? .error : .warning, condition: condition))
    }
    let expression = expression(of: attribute.name, in: mapping)
    // A constant is evaluated before the first row is read.
    guard rows != 0 || expression.map(\.isConstant) == true else { return }
    switch expression {
    case nil:
      if !attribute.isOptional, attribute.defaultValue == nil { add(.unset, rows, filter ?? policy) }
    case .constant(.null)?:
      if !attribute.isOptional, rows != 0 { add(.setToNil, rows, filter ?? policy) }
    case .constant(let value)?:
      guard !attribute.kind.accepts(value) else { return }
      add(.constant("\(AspectText.value(value))", to: attribute.kind.title), nil, nil)
    case let expression?:
      guard let key = MappingExpressions.sourceKey(expression),
        let before = sources.compactMap({ attributeOfSource(key, $0) }).first
      else { return }
      let values = valueCount(of: key, in: sources)
      if !attribute.kind.accepts(valuesOf: before.kind) {
        guard values != 0 else { return }
        add(
          .type(from: before.kind.title, to: attribute.kind.title), values, isKnown: counts == nil || values != nil,
          filter)
      } else if !attribute.isOptional, let rows, let values, values < rows {
        add(.empty, rows - values, filter ?? policy)
      }
    }
  }

  private func attributeOfSource(_ name: String, _ entity: String) -> AttributeDocument? {
    old.lineage(of: entity).flatMap(\.attributes).first { $0.name == name }
  }

  // MARK: Relationships

  private mutating func judge(
    _ relationship: RelationshipDocument, _ owner: String, _ mapping: EntityMappingDocument, _ sources: [String],
    _ rows: Int?, _ filter: String?
  ) {
    func add(_ reason: Reason, _ count: Int?) {
      let condition = filter ?? policy
      items.append(
        Item(
          reason: reason, owner: owner, property: relationship.name, isRelationship: true, mapping: mapping.name,
          count: count, level: condition == nil ? .error : .warning, condition: condition))
    }
    guard rows != 0 else { return }
    guard let expression = expression(of: relationship.name, in: mapping) else {
      if inverseExpressions(of: relationship).isEmpty {
        add(.unset, rows)
      } else {
        undecided.insert([owner, relationship.name])
      }
      return
    }
    if expression == .constant(.null), inverseExpressions(of: relationship).isEmpty { return add(.setToNil, rows) }
    guard let key = MappingExpressions.sourceRelationship(expression), let rows,
      let before = sources.compactMap({ relationshipOfSource(key, $0) }).first, !before.isToMany,
      let links = valueCount(of: key, in: sources)
    else {
      undecided.insert([owner, relationship.name])
      return
    }
    guard links < rows else {
      complete.insert([owner, relationship.name])
      return
    }
    // The inverse may add objects, unless it is copied too.
    let isAlone = inverseExpressions(of: relationship).allSatisfy {
      MappingExpressions.sourceRelationship($0) == before.inverseName
    }
    if isAlone { add(.empty, rows - links) } else { undecided.insert([owner, relationship.name]) }
  }

  private func relationshipOfSource(_ name: String, _ entity: String) -> RelationshipDocument? {
    old.lineage(of: entity).flatMap(\.relationships).first { $0.name == name }
  }

  /// Returns the expressions of a relationship's inverse, in the mappings that create objects of its destination.
  private func inverseExpressions(of relationship: RelationshipDocument) -> [ExpressionSyntax] {
    guard let inverse = relationship.inverseName, let destination = relationship.destinationEntityName else {
      return []
    }
    return (creators[destination] ?? []).compactMap { expression(of: inverse, in: $0) }
      .filter { $0 != .constant(.null) }
  }

  // MARK: Mappings

  /// The condition added if another entity mapping has a policy, which may set any property.
  private var policy: String? { hasPolicies ? "unless a policy sets it" : nil }

  /// Returns the entities whose rows a mapping reads, and whether it may skip some of these rows.
  private func sources(of mapping: EntityMappingDocument) -> (entities: [String], isFiltered: Bool) {
    let source = [mapping.sourceEntityName].compactMap { $0 }
    guard let expression = mapping.sourceExpression else { return (source, false) }
    guard case .fetch(let request, _, _) = expression,
      case .function(_, MappingExpressions.requestSelector, let arguments) = request,
      case .constant(.string(let entity))? = arguments.first
    else { return (source, true) }
    return ([entity], mapping.filter != nil)
  }

  /// Returns the expression for a property; nil if the property keeps its default value.
  private func expression(of name: String, in mapping: EntityMappingDocument) -> ExpressionSyntax? {
    guard mapping.copiesAll else {
      return (mapping.attributeMappings + mapping.relationshipMappings).first { $0.name == name }?.valueExpression
    }
    let source = mapping.sourceEntityName ?? ""
    if attributeOfSource(name, source)?.isTransient == false { return MappingExpressions.sourceValue(name) }
    if relationshipOfSource(name, source)?.isTransient == false {
      return MappingExpressions.destinationObjects(relationship: name)
    }
    return nil
  }

  /// Returns the number of values or links of a source property; nil if they were not counted.
  private func valueCount(of property: String, in entities: [String]) -> Int? {
    guard let counts else { return nil }
    var sum = 0
    for entity in entities where counts.rows[entity] ?? 0 > 0 {
      guard let count = counts.values[entity]?[property] else { return nil }
      sum += count
    }
    return sum
  }

  // MARK: Sentences

  private func finding(_ items: [Item]) -> Finding? {
    guard let item = items.first else { return nil }
    let names = Set(items.map(\.mapping)).sorted()
    let subject = (names.count == 1 ? "the entity mapping " : "the entity mappings ") + names.joined(separator: ", ")
    let (s, have) = names.count == 1 ? ("s", "has") : ("", "have")
    let sum = items.reduce(Int?(0)) { sum, item in sum.flatMap { sum in item.count.map { sum + $0 } } }
    func counted(_ noun: String) -> String? { sum.map { CountText.counted($0, noun) } }
    let code: FindingCode
    var message: String
    switch item.reason {
    case .type(let before, let after):
      code = .notInferable
      message =
        "\(before) cannot be converted into \(after); \(subject) pass\(names.count == 1 ? "es" : "") "
        + "\(counted("value") ?? "the values") on as \(sum == 1 ? "it is" : "they are")"
    case .constant(let value, let after):
      code = .notInferable
      message = "\(subject) give\(s) it the constant \(value), which is not of the type \(after)"
    case .unset:
      code = item.isRelationship ? .optionalBecomesRequired : .newRequiredAttribute
      message = item.isRelationship ? "is required" : "is required, without a default"
      message += "; \(subject) \(have) no expression for it"
      message += counted("row").map { " (\($0))" } ?? ""
    case .setToNil:
      code = .optionalBecomesRequired
      message = "is required; \(subject) set\(s) it to nil" + (counted("row").map { " in \($0)" } ?? "")
    case .empty:
      code = .optionalBecomesRequired
      message = "is required; \(subject) cop\(names.count == 1 ? "ies" : "y") it from "
      message += "\(counted("row") ?? "rows") without a value"
    }
    if let condition = items.lazy.compactMap(\.condition).first { message += ", \(condition)" }
    let level = items.map(\.level).max() ?? .error
    return Finding(
      code, level, entity: item.owner, property: item.property, sourceEntity: nil, sourceProperty: nil, message
    ).asFailure
  }
}

extension ExpressionSyntax {
  fileprivate var isConstant: Bool { if case .constant = self { true } else { false } }
}

extension AttributeKind {
  /// Whether a migration converts values of another type to this one.
  func accepts(valuesOf other: AttributeKind) -> Bool {
    let isAny = { (kind: AttributeKind) in kind == .transformable || kind == .undefined }
    return self == other || (isNumeric && other.isNumeric) || isAny(self) || isAny(other)
  }

  /// Whether a constant can be a value of this type.
  func accepts(_ value: PlainValue) -> Bool {
    switch value {
    case .boolean, .integer, .real, .decimal: accepts(valuesOf: .double)
    case .string: accepts(valuesOf: .string)
    case .date: accepts(valuesOf: .date)
    case .data: accepts(valuesOf: .binaryData)
    case .uuid: accepts(valuesOf: .uuid)
    case .url: accepts(valuesOf: .uri)
    case .null, .array, .set, .dictionary, .object: true
    }
  }
}
