// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation

@testable import CoreData

/// Makes predicates and sort orders at random, whose operands have fitting types.
struct PredicateGenerator {
  /// What a predicate exercises, for the counts of what SQL answers.
  enum Kind: String, CaseIterable {
    case attributes, missing, strings, between, lists, objects, arithmetic, bits, dates, functions, conditionals
    case any, all, none, members, counts, aggregates, subqueries, compounds, mixed
  }

  private enum ValueType: CaseIterable {
    case number, integer, string, date, uuid, uri, data

    func includes(_ type: NSAttributeType) -> Bool {
      switch type {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType:
        self == .number || self == .integer
      case .doubleAttributeType, .floatAttributeType, .decimalAttributeType: self == .number
      case .stringAttributeType: self == .string
      case .dateAttributeType: self == .date
      case .UUIDAttributeType: self == .uuid
      case .URIAttributeType: self == .uri
      default: false
      }
    }
  }

  let world: PredicateWorld
  var random: SeededGenerator

  private mutating func number(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
  private mutating func oneIn(_ count: Int) -> Bool { number(count) == 0 }
  private mutating func pick<Element>(_ list: [Element]) -> Element { list[number(list.count)] }

  // MARK: Predicates

  mutating func predicate(_ entity: NSEntityDescription) -> (kind: Kind, predicate: PredicateSyntax) {
    let kind = oneIn(5) ? .mixed : pick(Kind.allCases)
    return (kind, predicate(kind, Row(entity: entity, variable: nil), depth: 2))
  }

  /// A row that key paths begin at: the evaluated object, or the variable of a subquery.
  private struct Row {
    let entity: NSEntityDescription
    let variable: String?

    func path(_ path: String) -> ExpressionSyntax {
      variable.map { .keyPathOf(.variable($0), path) } ?? .keyPath(path)
    }

    var object: ExpressionSyntax { variable.map { .variable($0) } ?? .evaluatedObject }
  }

  private mutating func predicate(_ kind: Kind, _ row: Row, depth: Int) -> PredicateSyntax {
    switch kind {
    case .attributes:
      let type = pick(ValueType.allCases)
      return compare(value(type, row), pick(comparisons(type)), oneIn(3) ? value(type, row) : constant(type))
    case .missing: return missing(row)
    case .strings: return strings(row)
    case .between:
      let type = pick([ValueType.number, .integer, .string, .date])
      let bounds = [constant(type), oneIn(4) ? value(type, row) : constant(type)]
      return compare(value(type, row), .between, .aggregate(bounds))
    case .lists: return lists(row)
    case .objects: return objects(row)
    case .arithmetic:
      return compare(
        arithmetic(row, depth: 2), pick(comparisons(.number)), oneIn(2) ? arithmetic(row, depth: 1) : constant(.number))
    case .bits:
      return compare(
        bits(row, depth: 2), pick(comparisons(.integer)), oneIn(2) ? bits(row, depth: 1) : constant(.integer))
    case .dates: return dates(row)
    case .functions: return functions(row)
    case .conditionals:
      let type = pick([ValueType.integer, .string, .date])
      let condition = predicate(.attributes, row, depth: 0)
      let other = oneIn(5) ? .constant(.null) : oneIn(2) ? constant(type) : value(type, row)
      return compare(.conditional(condition, value(type, row), other), pick(comparisons(type)), constant(type))
    case .any: return collected(.any, row)
    case .all: return collected(.all, row)
    case .none: return .not(collected(.any, row))
    case .members: return members(row)
    case .counts:
      guard let path = collectionPath(row.entity) else { return predicate(.attributes, row, depth: depth) }
      let count: ExpressionSyntax =
        oneIn(2) ? row.path(path.path + ".@count") : function("count:", [row.path(path.path)])
      return compare(count, pick(comparisons(.integer)), .constant(.integer(Int64(number(4)))))
    case .aggregates: return aggregates(row)
    case .subqueries: return subqueries(row, depth: depth)
    case .compounds: return compound(row, depth: depth)
    case .mixed: return mixed(row, depth: depth)
    }
  }

  /// A predicate of parts that every engine expresses as SQL, and of texts that PostgreSQL does not.
  private mutating func mixed(_ row: Row, depth: Int) -> PredicateSyntax {
    var parts = [
      predicate(pick([.attributes, .between, .lists, .objects, .missing]), row, depth: 0), strings(row), strings(row),
    ]
    if oneIn(3) { parts.append(collected(pick([.any, .all]), row)) }
    if oneIn(3) { parts.append(.not(strings(row))) }
    if depth > 0, oneIn(2) { parts.append(mixed(row, depth: depth - 1)) }
    parts.removeFirst(number(2))
    parts.shuffle(using: &random)
    switch number(6) {
    case 0: return .or(parts)
    case 1: return .not(.or(parts))
    case 2: return .not(.and(parts))
    default: return .and(Array(parts.prefix(2)))
    }
  }

  private mutating func compound(_ row: Row, depth: Int) -> PredicateSyntax {
    func parts(_ generator: inout Self) -> [PredicateSyntax] {
      (0..<(1 + generator.number(3))).map { _ in
        var kind = generator.pick(Kind.allCases)
        if kind == .compounds, depth == 0 { kind = .attributes }
        return generator.predicate(kind, row, depth: max(0, depth - 1))
      }
    }
    switch number(5) {
    case 0: return .not(.and(parts(&self)))
    case 1: return .not(.or(parts(&self)))
    case 2: return .and(parts(&self))
    case 3: return .or(parts(&self))
    default: return .not(parts(&self)[0])
    }
  }

  private func compare(
    _ left: ExpressionSyntax, _ op: ComparisonSyntax.Operator, _ right: ExpressionSyntax,
    _ modifier: ComparisonSyntax.Modifier = .direct, _ options: ComparisonSyntax.Options = []
  ) -> PredicateSyntax {
    .comparison(ComparisonSyntax(left, op, right, modifier: modifier, options: options))
  }

  private func function(_ name: String, _ arguments: [ExpressionSyntax]) -> ExpressionSyntax {
    .function(operand: nil, name: name, arguments: arguments)
  }

  private func comparisons(_ type: ValueType) -> [ComparisonSyntax.Operator] {
    type == .uri || type == .data
      ? [.equalTo, .notEqualTo]
      : [.equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo]
  }

  private mutating func options() -> ComparisonSyntax.Options {
    pick([[], [.caseInsensitive], [.diacriticInsensitive], [.caseInsensitive, .diacriticInsensitive]])
  }

  private mutating func missing(_ row: Row) -> PredicateSyntax {
    let operand: ExpressionSyntax
    switch number(4) {
    case 0: operand = arithmetic(row, depth: 1)
    case 1: operand = objectPath(row)
    default: operand = value(pick(ValueType.allCases), row)
    }
    let op = pick([ComparisonSyntax.Operator.equalTo, .notEqualTo, .equalTo, .lessThan])
    if op == .lessThan { return compare(value(.number, row), op, .constant(.null)) }
    return oneIn(2) ? compare(operand, op, .constant(.null)) : compare(.constant(.null), op, operand)
  }

  private mutating func strings(_ row: Row) -> PredicateSyntax {
    let left = value(.string, row)
    switch number(8) {
    case 0: return compare(left, .like, .constant(.string(pick(OddValues.patterns))), .direct, options())
    case 1: return compare(left, .matches, .constant(.string(pick(OddValues.expressions))), .direct, options())
    case 2: return compare(left, .beginsWith, .constant(.string(pick(OddValues.strings))))
    case 3: return compare(left, pick(comparisons(.string)), constant(.string), .direct, options())
    case 4:
      if oneIn(2) { return compare(constant(.string), .in, left, .direct, options()) }
      return compare(left, .between, .aggregate([constant(.string), constant(.string)]), .direct, options())
    default:
      let right = oneIn(3) ? value(.string, row) : constant(.string)
      return compare(left, pick([.beginsWith, .endsWith, .contains]), right, .direct, options())
    }
  }

  private mutating func lists(_ row: Row) -> PredicateSyntax {
    let type = pick([ValueType.number, .integer, .string, .date, .uuid, .uri])
    if oneIn(3) {
      let elements = (0..<(1 + number(3))).map { _ in oneIn(2) ? value(type, row) : constant(type) }
      return compare(value(type, row), .in, .aggregate(elements))
    }
    var list: [PlainValue] = (0..<number(5)).map { _ in plain(type) }
    if oneIn(4) { list.append(.null) }
    // A long list is bound in another way.
    if oneIn(6) { list += (0..<120).map { _ in plain(type) } }
    let right: ExpressionSyntax = .constant(oneIn(2) ? .array(list) : .set(list))
    return compare(value(type, row), .in, right, .direct, type == .string && oneIn(3) ? options() : [])
  }

  private mutating func object(_ entity: NSEntityDescription?) -> PlainValue {
    guard let object = world.objects[entity?.name ?? ""].map({ pick($0) }) else { return .null }
    return .object(OpaqueObject(oneIn(2) ? AnyHashable(object) : AnyHashable(object.objectID)))
  }

  private mutating func objects(_ row: Row) -> PredicateSyntax {
    let relationships = row.entity.relationshipsByName.values.filter { !$0.isToMany }.sorted { $0.name < $1.name }
    let op = pick([ComparisonSyntax.Operator.equalTo, .notEqualTo])
    guard !relationships.isEmpty, !oneIn(4) else {
      return oneIn(2)
        ? compare(row.object, op, .constant(object(row.entity)))
        : compare(row.object, .in, .constant(.array((0..<3).map { _ in object(row.entity) })))
    }
    let relationship = pick(relationships)
    let path = row.path(relationship.name)
    let destination = relationship.destinationEntity
    switch number(4) {
    case 0: return compare(path, .in, .constant(.array((0..<number(4)).map { _ in object(destination) })))
    case 1: return compare(.constant(object(destination)), op, path)
    case 2:
      let deeper = destination?.relationshipsByName[relationship.name]
      guard deeper?.isToMany == false else { return compare(path, op, .constant(.null)) }
      return compare(row.path("\(relationship.name).\(relationship.name)"), op, path)
    default: return compare(path, op, .constant(object(destination)))
    }
  }

  private mutating func dates(_ row: Row) -> PredicateSyntax {
    let seconds: ExpressionSyntax = .constant(
      oneIn(2) ? .integer(Int64(number(200_000))) : .real(Double(number(99)) / 8))
    let moved = function(pick(["add:to:", "from:subtract:"]), [value(.date, row), seconds])
    switch number(5) {
    case 0:
      let interval = function("from:subtract:", [value(.date, row), oneIn(2) ? constant(.date) : value(.date, row)])
      return compare(interval, pick(comparisons(.number)), seconds)
    case 1:
      let now = function(
        "from:subtract:",
        [function("castObject:toType:", [function("now", []), .constant(.string("NSNumber"))]), seconds])
      return compare(
        value(.date, row), pick(comparisons(.date)),
        function("castObject:toType:", [now, .constant(.string("NSDate"))]))
    case 2:
      let number = function("castObject:toType:", [value(.date, row), .constant(.string("NSNumber"))])
      return compare(number, pick(comparisons(.number)), seconds)
    case 3: return compare(moved, .lessThan, function("now", []))
    default: return compare(moved, pick(comparisons(.date)), oneIn(2) ? value(.date, row) : constant(.date))
    }
  }

  private mutating func functions(_ row: Row) -> PredicateSyntax {
    let operators = comparisons(.number)
    switch number(5) {
    case 0:
      return compare(function("length:", [value(.string, row)]), pick(operators), .constant(.integer(Int64(number(5)))))
    case 1:
      let name = pick(["uppercase:", "lowercase:", "canonical:"])
      return compare(function(name, [value(.string, row)]), pick(operators), constant(.string), .direct, options())
    case 2:
      guard let path = path(row.entity, to: .string) else { return predicate(.attributes, row, depth: 0) }
      return compare(row.path(path + ".length"), pick(operators), .constant(.integer(Int64(number(5)))))
    default:
      let name = pick(["abs:", "floor:", "ceiling:", "trunc:", "sqrt:", "exp:", "ln:", "log:", "chs:"])
      return compare(function(name, [value(.number, row)]), pick(operators), constant(.number))
    }
  }

  private mutating func arithmetic(_ row: Row, depth: Int) -> ExpressionSyntax {
    guard depth > 0 else { return oneIn(3) ? constant(.number) : value(.number, row) }
    let names = ["add:to:", "from:subtract:", "multiply:by:", "divide:by:", "add:to:", "modulus:by:"]
    return function(pick(names), [arithmetic(row, depth: depth - 1), arithmetic(row, depth: depth - 1)])
  }

  private mutating func bits(_ row: Row, depth: Int) -> ExpressionSyntax {
    guard depth > 0 else { return oneIn(3) ? constant(.integer) : value(.integer, row) }
    if oneIn(6) { return function("onesComplement:", [bits(row, depth: depth - 1)]) }
    if oneIn(4) {
      return function(
        pick(["leftshift:by:", "rightshift:by:"]),
        [bits(row, depth: depth - 1), .constant(.integer(Int64(number(70) - 2)))])
    }
    let names = ["bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:"]
    return function(pick(names), [bits(row, depth: depth - 1), bits(row, depth: depth - 1)])
  }

  // MARK: Collections

  private mutating func collected(_ modifier: ComparisonSyntax.Modifier, _ row: Row) -> PredicateSyntax {
    guard let collection = collectionPath(row.entity) else { return predicate(.strings, row, depth: 0) }
    if oneIn(5) {
      let list: PlainValue = .array((0..<number(4)).map { _ in object(collection.entity) })
      return oneIn(2)
        ? compare(row.path(collection.path), .equalTo, .constant(object(collection.entity)), modifier)
        : compare(row.path(collection.path), .in, .constant(list), modifier)
    }
    let type = pick([ValueType.number, .integer, .string, .date, .uuid])
    guard let path = path(collection.entity, to: type) else { return collected(modifier, row) }
    let left = row.path("\(collection.path).\(path)")
    switch number(6) {
    case 0: return compare(left, pick([.equalTo, .notEqualTo]), .constant(.null), modifier)
    case 1:
      return compare(
        left, .in, .constant(.array([plain(type), plain(type), oneIn(2) ? .null : plain(type)])), modifier)
    case 2: return compare(left, .equalTo, value(type, row), modifier)
    case 3 where type == .string:
      return compare(left, pick([.beginsWith, .endsWith, .contains, .like]), constant(.string), modifier, options())
    case 4 where type != .uuid: return compare(left, .between, .aggregate([constant(type), constant(type)]), modifier)
    default: return compare(left, pick(comparisons(type)), constant(type), modifier)
    }
  }

  private mutating func members(_ row: Row) -> PredicateSyntax {
    guard let relationship = toMany(row.entity), let destination = relationship.destinationEntity else {
      return predicate(.attributes, row, depth: 0)
    }
    if oneIn(2) {
      return oneIn(2)
        ? compare(row.path(relationship.name), .contains, .constant(object(destination)))
        : compare(.constant(object(destination)), .in, row.path(relationship.name))
    }
    let type = pick([ValueType.number, .integer, .string, .date])
    guard let path = path(destination, to: type) else { return members(row) }
    let values = row.path("\(relationship.name).\(path)")
    let element = oneIn(4) ? .constant(.null) : oneIn(2) ? value(type, row) : constant(type)
    return oneIn(2) ? compare(values, .contains, element) : compare(element, .in, values)
  }

  private mutating func aggregates(_ row: Row) -> PredicateSyntax {
    guard let relationship = toMany(row.entity), let destination = relationship.destinationEntity else {
      return predicate(.arithmetic, row, depth: 0)
    }
    let name = pick(["sum", "min", "max", "avg"])
    let type = pick([ValueType.number, .integer])
    guard let path = path(destination, to: type) else { return aggregates(row) }
    let aggregate: ExpressionSyntax
    switch number(4) {
    case 0: aggregate = row.path("\(relationship.name).\(path).@\(name)")
    case 1:
      aggregate = function(name == "avg" ? "average:" : "\(name):", [row.path("\(relationship.name).\(path)")])
    default: aggregate = row.path("\(relationship.name).@\(name).\(path)")
    }
    if oneIn(6) { return compare(aggregate, .equalTo, .constant(.null)) }
    return compare(aggregate, pick(comparisons(.number)), oneIn(3) ? value(.number, row) : constant(.number))
  }

  private mutating func subqueries(_ row: Row, depth: Int) -> PredicateSyntax {
    guard let relationship = toMany(row.entity), let destination = relationship.destinationEntity else {
      return predicate(.attributes, row, depth: 0)
    }
    let variable = "v\(depth)"
    let inner = Row(entity: destination, variable: variable)
    let condition: PredicateSyntax
    switch number(4) {
    case 0 where depth > 0: condition = subqueries(inner, depth: depth - 1)
    case 1 where depth > 0: condition = compound(inner, depth: depth - 1)
    case 2: condition = compare(value(.number, inner), pick(comparisons(.number)), value(.number, row))
    default: condition = predicate(pick([.attributes, .strings, .any, .objects, .missing, .counts]), inner, depth: 0)
    }
    let subquery = ExpressionSyntax.subquery(
      collection: row.path(relationship.name), variable: variable, predicate: condition)
    switch number(4) {
    case 0:
      guard let path = path(destination, to: .number) else { fallthrough }
      return compare(
        .keyPathOf(subquery, "@\(pick(["max", "min", "sum"])).\(path)"), pick(comparisons(.number)), constant(.number))
    case 1:
      guard let path = path(destination, to: .string) else { fallthrough }
      return compare(.keyPathOf(subquery, path), pick(comparisons(.string)), constant(.string), pick([.any, .all]))
    default:
      return compare(.keyPathOf(subquery, "@count"), pick(comparisons(.integer)), .constant(.integer(Int64(number(3)))))
    }
  }

  // MARK: Values and key paths

  private mutating func toMany(_ entity: NSEntityDescription) -> NSRelationshipDescription? {
    let all = entity.relationshipsByName.values.filter(\.isToMany).sorted { $0.name < $1.name }
    return all.isEmpty ? nil : pick(all)
  }

  /// A path through one or more to-many relationships, with to-one relationships before and between them at times.
  private mutating func collectionPath(_ entity: NSEntityDescription) -> (path: String, entity: NSEntityDescription)? {
    var (names, current, isToMany): ([String], NSEntityDescription, Bool) = ([], entity, false)
    for _ in 0..<3 {
      let all = current.relationshipsByName.values.sorted { $0.name < $1.name }
      let candidates = all.filter { isToMany ? true : $0.isToMany || names.isEmpty && oneIn(3) }
      guard !candidates.isEmpty else { break }
      let next = pick(candidates)
      guard let destination = next.destinationEntity else { break }
      names.append(next.name)
      current = destination
      isToMany = isToMany || next.isToMany
      if isToMany, !oneIn(3) { break }
    }
    return isToMany ? (names.joined(separator: "."), current) : nil
  }

  /// A path to an attribute, through to-one relationships at times.
  private mutating func path(_ entity: NSEntityDescription, to type: ValueType) -> String? {
    if oneIn(3) {
      let toOne = entity.relationshipsByName.values.filter { !$0.isToMany }.sorted { $0.name < $1.name }
      if !toOne.isEmpty {
        let relationship = pick(toOne)
        if let destination = relationship.destinationEntity, let rest = path(destination, to: type) {
          return "\(relationship.name).\(rest)"
        }
      }
    }
    let names = entity.attributesByName.values.filter { type.includes($0.attributeType) && !$0.isTransient }
      .map(\.name).sorted()
    if type == .data { return entity.attributesByName["photo"] == nil ? nil : "photo" }
    return names.isEmpty ? nil : pick(names)
  }

  private mutating func objectPath(_ row: Row) -> ExpressionSyntax {
    let toOne = row.entity.relationshipsByName.values.filter { !$0.isToMany }.map(\.name).sorted()
    return toOne.isEmpty ? row.object : row.path(pick(toOne))
  }

  private mutating func value(_ type: ValueType, _ row: Row) -> ExpressionSyntax {
    path(row.entity, to: type).map { row.path($0) } ?? constantOrCount(type, row)
  }

  /// What stands for an attribute in an entity that has none of the type.
  private mutating func constantOrCount(_ type: ValueType, _ row: Row) -> ExpressionSyntax {
    if type == .number || type == .integer, let relationship = toMany(row.entity) {
      return row.path("\(relationship.name).@count")
    }
    return constant(type)
  }

  private mutating func constant(_ type: ValueType) -> ExpressionSyntax { .constant(plain(type)) }

  private mutating func plain(_ type: ValueType) -> PlainValue {
    switch type {
    case .integer: return .integer(oneIn(5) ? pick(OddValues.longs) : pick(OddValues.integers))
    case .number:
      switch number(4) {
      case 0: return .real(pick(OddValues.reals))
      case 1: return .decimal(OddValues.decimal(pick(OddValues.decimals)).decimalValue)
      case 2: return .boolean(oneIn(2))
      default: return plain(.integer)
      }
    case .string: return .string(pick(OddValues.strings))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: pick(OddValues.dates)))
    case .uuid: return UUID(uuidString: pick(OddValues.identifiers)).map { .uuid($0) } ?? .null
    case .uri: return URL(string: pick(OddValues.addresses)).map { .url($0) } ?? .null
    case .data: return .data(Data(pick(OddValues.bytes)))
    }
  }

  // MARK: Orders

  mutating func order(_ entity: NSEntityDescription) -> [SortKey] {
    (0..<number(4)).compactMap { _ in
      let type = pick(ValueType.allCases)
      if oneIn(6), let relationship = toMany(entity) {
        return SortKey(keyPath: "\(relationship.name).@count", isAscending: oneIn(2))
      }
      let methods: [SortKey.Method] = [
        .compare, .compare, .caseInsensitive, .localized, .localizedCaseInsensitive, .localizedStandard,
      ]
      return path(entity, to: type).map { path in
        SortKey(keyPath: path, isAscending: oneIn(2), method: type == .string ? pick(methods) : .compare)
      }
    }
  }
}
