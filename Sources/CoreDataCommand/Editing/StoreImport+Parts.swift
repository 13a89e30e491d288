// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// The relationships of imported objects, and saving in parts.
extension StoreImport {
  func object(_ place: ObjectPlace) throws -> NSManagedObject {
    try store.object(entity: names.entityNames[Int(place.entity)], number: place.number)
  }

  /// Returns the object with an identifier; nil if it does not exist, or not yet.
  private func destination(_ number: Int32) throws -> NSManagedObject? {
    if let object = part.objects[number] { return object }
    if let place = names.place(number) { return try object(place) }
    // The lines of a file take precedence over objects of the store.
    guard names.isComplete, !names.isDeclared(number), let object = try store.existing(names.text(number)) else {
      return nil
    }
    names.set(object.objectID, number)
    return object
  }

  /// Sets a relationship.
  func connect(_ link: ImportedLink) throws {
    let (object, relationship) = (link.object, link.relationship)
    do {
      let members = try link.names.map { number in
        guard let found = try destination(number) else {
          throw ValueProblem("\(names.text(number)) is neither in the file nor in \(store.address.name)")
        }
        try relationship.check(found)
        return found
      }
      if relationship.isToMany {
        object.set(members, of: relationship)
      } else {
        object.setValue(members.first, forKey: relationship.name)
      }
    } catch let problem as ValueProblem {
      throw LinkProblem(
        line: link.line, reason: "\(object.entity.name ?? "").\(relationship.name): \(problem.sentence)")
    }
  }

  /// Returns whether a relationship is as its line says: another line may contradict it through the inverse.
  func isKept(_ link: ImportedLink) throws -> Bool {
    let expected = try link.names.compactMap(destination)
    return switch link.object.value(forKey: link.relationship.name) {
    case let found as NSManagedObject: expected == [found]
    case let found as NSOrderedSet: expected == found.array as? [NSManagedObject]
    case let found as Set<NSManagedObject>: Set(expected) == found
    default: expected.isEmpty
    }
  }

  func contradiction(_ link: ImportedLink) throws -> LinkProblem {
    let (expected, found) = (try link.names.compactMap(destination), link.object.members(of: link.relationship))
    let others = Set(expected).symmetricDifference(found).compactMap { lines.numbers[$0] }.filter { $0 != link.line }
      .sorted()
    let inverse = link.relationship.inverseRelationship
    return LinkProblem(
      line: link.line,
      reason: "\(link.object.entity.name ?? "").\(link.relationship.name) contradicts its inverse"
        + (inverse.map { ", \($0.entity.name ?? "").\($0.name)" } ?? "")
        + (others.first.map { ", in \(lines.text(of: $0))." } ?? "."))
  }

  // MARK: Saving in parts

  /// Connects the objects in memory with those that exist, and saves and forgets them.
  func savePart() throws {
    if partSize < .max { try holdBack() }
    var isPending: [Bool] = []
    var incomplete: Set<NSManagedObject> = []
    for link in part.links {
      let waits = try isPostponed(link) || link.names.contains { try isAwaited($0) }
      if waits { incomplete.insert(link.object) } else { try connect(link) }
      isPending.append(waits)
    }
    for object in part.updated where incomplete.contains(object) && !object.hasPersistentChangedValues {
      unchanged.insert(names.place(of: object.objectID))
    }
    count()
    try store.savePart(lines)
    hasSavedPart = true
    for (number, object) in part.objects { names.set(object.objectID, number) }
    for (link, isPending) in zip(part.links, isPending) {
      saved.add(link, of: names.place(of: link.object.objectID), isPending: isPending)
    }
    forgetObjects()
  }

  /// Returns whether a relationship to an object that was saved before is set at the end, together with the others to the
  /// same object: setting one loads all members of the inverse.
  private func isPostponed(_ link: ImportedLink) -> Bool {
    let relationship = link.relationship
    guard partSize < .max, !relationship.isToMany, !relationship.isRequired,
      relationship.inverseRelationship?.isToMany == true
    else { return false }
    return link.names.contains { part.objects[$0] == nil }
  }

  /// Returns whether a later line may create the object with an identifier.
  private func isAwaited(_ number: Int32) throws -> Bool {
    guard partSize < .max, !names.isComplete || names.isDeclared(number) else { return false }
    return try destination(number) == nil
  }

  private func forgetObjects() {
    part = Part()
    lines.forgetObjects()
    store.context.reset()
  }

  /// Removes new objects that need objects which do not exist yet, until a later pass.
  private func holdBack() throws {
    let needs = part.links.filter { $0.object.isInserted && $0.relationship.isRequired }
    var held: Set<NSManagedObject> = []
    var isSettled = false
    while !isSettled {
      isSettled = true
      for link in needs where !held.contains(link.object) {
        let isPossible = try link.names.allSatisfy { number in
          // What is nowhere is reported with its line.
          if try isAwaited(number) { return false }
          return try destination(number).map { !held.contains($0) } ?? true
        }
        if !isPossible {
          held.insert(link.object)
          isSettled = false
        }
      }
    }
    guard !held.isEmpty else { return }
    for (record, object) in part.inserted where held.contains(object) {
      heldBack.insert(record)
      store.context.delete(object)
    }
    part.inserted.removeAll { held.contains($0.object) }
    part.links.removeAll { held.contains($0.object) }
    for (number, object) in part.objects where held.contains(object) { part.objects[number] = nil }
  }

  /// Sets the relationships to objects that later lines have created.
  func connectSaved() throws {
    saved.sortPending()
    for part in parts(of: saved.pending) {
      var changed: [NSManagedObject] = []
      for link in try readLinks(part) {
        try connect(link)
        if unchanged.contains(names.place(of: link.object.objectID)) { changed.append(link.object) }
      }
      for object in Set(changed) where object.hasPersistentChangedValues {
        unchanged.remove(names.place(of: object.objectID))
        totals[object.entity.name ?? "", default: Count()].updated += 1
        totals[object.entity.name ?? "", default: Count()].unchanged -= 1
      }
      try store.savePart(lines)
      forgetObjects()
    }
  }

  /// Makes sure that all relationships are as the lines say. A relationship to one object can only be contradicted
  /// through an inverse that lines set too, or that has one object.
  func checkSaved() throws {
    let doubtful = saved.relationships.filter { relationship in
      guard let inverse = relationship.inverseRelationship else { return false }
      return !inverse.isToMany || relationship.isToMany
        || saved.relationships.contains { $0.isSameProperty(as: inverse) }
    }
    let identities = Set(doubtful.map { ObjectIdentifier($0) })
    let positions = saved.indices.filter { identities.contains(ObjectIdentifier(saved.relationship($0))) }
    for part in parts(of: positions) {
      for link in try readLinks(part) where try !isKept(link) { throw Contradiction() }
      store.context.reset()
    }
  }

  /// Splits relationships that have been saved into parts, each small enough for all its objects to be in memory.
  private func parts(of positions: [Int32]) -> [ArraySlice<Int32>] {
    var parts: [ArraySlice<Int32>] = []
    var (start, linkedCount) = (0, 0)
    for (index, position) in positions.enumerated() {
      linkedCount += saved.count(position)
      guard index + 1 - start == Self.defaultPartSize || linkedCount >= Self.maxLinkedCount else { continue }
      parts.append(positions[start...index])
      (start, linkedCount) = (index + 1, 0)
    }
    return start < positions.count ? parts + [positions[start...]] : parts
  }

  /// Returns relationships that have been saved. Their objects are read together: one by one, each takes a statement.
  private func readLinks(_ positions: ArraySlice<Int32>) throws -> [ImportedLink] {
    let links = try positions.map { saved.link($0, try object(saved.place($0))) }
    for links in Dictionary(grouping: links, by: { ObjectIdentifier($0.relationship) }).values {
      guard links.count > 1, let relationship = links.first?.relationship else { continue }
      let request = NSFetchRequest<NSManagedObject>(entityName: relationship.entity.name ?? "")
      request.predicate = try NSPredicate.checked(
        format: "SELF IN %@", argumentArray: [links.map(\.object.objectID)])
      request.returnsObjectsAsFaults = false
      if relationship.isToMany { request.relationshipKeyPathsForPrefetching = [relationship.name] }
      _ = try store.context.fetch(request)
    }
    return links
  }
}

/// A problem with a relationship, whose line is numbered through all files.
struct LinkProblem: Error {
  let line: Int
  let reason: String
}

extension NSRelationshipDescription {
  /// Whether an object without destinations breaks a rule.
  fileprivate var isRequired: Bool { !isOptional && (!isToMany || minCount > 0) }

  fileprivate func isSameProperty(as other: NSRelationshipDescription) -> Bool {
    name == other.name && entity.name == other.entity.name
  }
}
