// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// The objects with unsaved changes that a fetch must evaluate in memory: as few as possible, since there may be as
/// many of them as rows in the store.
///
/// The store and the context agree on an object if no value that the predicate or the order reads has been changed. A
/// predicate such as `SELF IN %@` concerns only the objects that it lists.
struct PendingObjects {
  private let query: RowQuery
  private let context: NSManagedObjectContext
  /// The names of the properties that affect the results or their order; nil if any may.
  private let names: [String]?

  /// - Parameter isAnythingRead: whether the fetch reads properties other than those named in the query's predicate and
  ///   order.
  init(_ query: RowQuery, isAnythingRead: Bool, in context: NSManagedObjectContext) {
    self.query = query
    self.context = context
    names = isAnythingRead ? nil : Self.names(readBy: query)
  }

  /// Returns the objects, in the order in which they were first changed.
  func objects() -> [NSManagedObject] {
    guard context.hasChanges else { return [] }
    context.processChangesBeforeFetch()
    let candidates =
      query.predicate.flatMap { Self.listedObjects($0) }.map { changed($0) }
      ?? context.changed.objectsOfEntities { isWanted($0) }
    var positions: (table: UInt32, read: [Int])?
    return candidates.filter { object in
      // If its row is found after all, the object is revived.
      if object.isInaccessible { return false }
      guard let names, !object.isInserted, !object.isDeleted else { return true }
      let table = object.table
      if positions?.table != table.number { positions = (table.number, names.compactMap { table.position(of: $0) }) }
      return object.differsFromRow(atOneOf: positions?.read ?? [])
    }
  }

  private func isWanted(_ entity: NSEntityDescription) -> Bool {
    query.includesSubentities ? entity.isKindOf(entity: query.entity) : entity === query.entity
  }

  /// Returns the listed objects that have unsaved changes.
  private func changed(_ listed: [Listed]) -> [NSManagedObject] {
    var found: [ObjectIdentifier: NSManagedObject] = [:]
    for listed in listed {
      var object = listed.object
      if object == nil || object?.context !== context { object = context.registeredObject(for: listed.id.current) }
      guard let object, context.changed.contains(object), isWanted(object.entity) else { continue }
      found[ObjectIdentifier(object)] = object
    }
    return found.values.sorted { $0.changePosition < $1.changePosition }
  }

  // MARK: What a query reads

  /// An object that a predicate names.
  private struct Listed {
    let object: NSManagedObject?
    let id: NSManagedObjectID

    init?(_ value: PlainValue) {
      guard case .object(let opaque) = value else { return nil }
      switch opaque.value.base {
      case let object as NSManagedObject: (self.object, id) = (object, object.objectID)
      case let id as NSManagedObjectID: (object, self.id) = (nil, id)
      default: return nil
      }
    }
  }

  /// Returns the only objects for which a predicate can be true; nil if it lists none.
  private static func listedObjects(_ predicate: PredicateSyntax) -> [Listed]? {
    switch predicate {
    case .and(let parts): return parts.lazy.compactMap { listedObjects($0) }.first
    case .comparison(let comparison):
      guard comparison.modifier == .direct, isIdentity(comparison.left) else { return nil }
      let values: [PlainValue]
      switch (comparison.op, comparison.right) {
      case (.in, .constant(.array(let list))), (.in, .constant(.set(let list))): values = list
      case (.equalTo, .constant(.object(let object))): values = [.object(object)]
      default: return nil
      }
      let objects = values.compactMap(Listed.init)
      return objects.count == values.count ? objects : nil
    default: return nil
    }
  }

  private static func isIdentity(_ expression: ExpressionSyntax) -> Bool {
    switch expression {
    case .evaluatedObject, .keyPath("self"), .keyPath("SELF"), .keyPath("objectID"): true
    default: false
    }
  }

  /// Returns the names of the stored properties that a query reads; nil if it may read others.
  private static func names(readBy query: RowQuery) -> [String]? {
    guard let read = query.predicate.map({ keyPaths(readBy: $0) }) ?? [] else { return nil }
    var names: Set<String> = []
    for path in read + query.order.map(\.keyPath) {
      if ["self", "SELF", "objectID", "entity"].contains(path) { continue }
      let name = path.prefix { $0 != "." }
      let isWhole = name.endIndex == path.endIndex
      switch query.entity.propertiesByName[String(name)] {
      case let attribute as NSAttributeDescription:
        guard !attribute.isTransient, isWhole || attribute is NSCompositeAttributeDescription else { return nil }
      case let relationship as NSRelationshipDescription:
        guard !relationship.isTransient, !relationship.isToMany, isWhole else { return nil }
      default: return nil
      }
      names.insert(String(name))
    }
    return Array(names)
  }

  /// Returns the key paths that a predicate reads from the evaluated object; nil if it may read others.
  private static func keyPaths(readBy predicate: PredicateSyntax) -> [String]? {
    switch predicate {
    case .constant: return []
    case .and(let parts), .or(let parts): return all(parts) { keyPaths(readBy: $0) }
    case .not(let part): return keyPaths(readBy: part)
    case .comparison(let comparison):
      guard comparison.op != .customSelector else { return nil }
      return all([comparison.left, comparison.right]) { side in
        // Comparing an object as a whole compares its identity.
        if side == .evaluatedObject, [.equalTo, .notEqualTo, .in].contains(comparison.op) { return [] }
        return keyPaths(readBy: side)
      }
    }
  }

  private static func keyPaths(readBy expression: ExpressionSyntax) -> [String]? {
    switch expression {
    case .constant: return []
    case .keyPath(let path), .keyPathOf(.evaluatedObject, let path): return [path]
    case .function(nil, _, let arguments): return all(arguments) { keyPaths(readBy: $0) }
    case .aggregate(let elements): return all(elements) { keyPaths(readBy: $0) }
    case .conditional(let condition, let one, let other):
      guard let condition = keyPaths(readBy: condition) else { return nil }
      return all([one, other]) { keyPaths(readBy: $0) }.map { condition + $0 }
    default: return nil
    }
  }

  private static func all<Part>(_ parts: [Part], _ keyPaths: (Part) -> [String]?) -> [String]? {
    var result: [String] = []
    for part in parts {
      guard let found = keyPaths(part) else { return nil }
      result += found
    }
    return result
  }
}

extension NSManagedObject {
  /// Returns whether one of the values differs, or may differ, from that of the row as last read.
  final func differsFromRow(atOneOf positions: [Int]) -> Bool {
    switch state.values {
    case .packed: return false
    case .edited(let edited):
      return positions.contains { position in
        edited.changes[position].map { !edited.row.isSame(as: $0, at: position) } ?? false
      }
    case .decoded(let decoded):
      guard let row = decoded.row else { return true }
      if let packed = row.packed { return positions.contains { !packed.isSame(as: decoded.slots[$0], at: $0) } }
      let old = row.slots
      return positions.contains { !decoded.slots[$0].isSame(as: old[$0]) }
    case .fault, .removing, .new: return true
    }
  }
}
