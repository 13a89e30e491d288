// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// An object of a store in little memory.
struct ObjectPlace: Hashable {
  /// The number of the entity in `ImportedNames`.
  let entity: UInt16
  /// The number of the object in the store.
  let number: Int64
}

/// A relationship of an imported object, and the numbers of the identifiers that its line gives it.
struct ImportedLink {
  let line: Int
  let object: NSManagedObject
  let relationship: NSRelationshipDescription
  let names: [Int32]
}

/// The identifiers in imported files, each with a number, and the objects that have them. They are all in memory, so each
/// takes as little as possible.
struct ImportedNames {
  private enum State: UInt8 {
    /// Only relationships have named it.
    case mentioned
    /// A line of the file has it, and its object does not exist yet.
    case declared
    /// It names an object of the store.
    case stored
  }

  private var numbers: [String: Int32] = [:]
  /// The texts of those that no line has yet, which may be sought in the store.
  private var keys: [Int32: String] = [:]
  private var states: [State] = []
  private var placeEntities: [UInt16] = []
  private var placeNumbers: [Int64] = []
  /// What identifiers begin with: `x-coredata://UUID/`. Without it, most are short enough to need no memory of their own.
  private var prefixes: [String] = []
  private var entities: [String: UInt16] = [:]
  private(set) var entityNames: [String] = []
  /// Whether all identifiers of lines are known.
  var isComplete = false

  /// Returns the number of an identifier.
  mutating func number(of id: String) -> Int32 {
    let key = shortened(id)
    if let number = numbers[key] { return number }
    let number = Int32(states.count)
    numbers[key] = number
    keys[number] = key
    states.append(.mentioned)
    placeEntities.append(0)
    placeNumbers.append(0)
    return number
  }

  /// Returns the number of a line's identifier; nil if another line has the same.
  mutating func declare(_ id: String) -> Int32? {
    let number = number(of: id)
    guard states[Int(number)] == .mentioned else { return nil }
    states[Int(number)] = .declared
    keys[number] = nil
    return number
  }

  func isDeclared(_ number: Int32) -> Bool { states[Int(number)] != .mentioned }

  /// Returns the object with an identifier; nil if it has not been saved.
  func place(_ number: Int32) -> ObjectPlace? {
    guard states[Int(number)] == .stored else { return nil }
    return ObjectPlace(entity: placeEntities[Int(number)], number: placeNumbers[Int(number)])
  }

  mutating func set(_ id: NSManagedObjectID, _ number: Int32) {
    let place = place(of: id)
    states[Int(number)] = .stored
    (placeEntities[Int(number)], placeNumbers[Int(number)]) = (place.entity, place.number)
  }

  mutating func place(of id: NSManagedObjectID) -> ObjectPlace {
    ObjectPlace(entity: number(ofEntity: id.entityDescription.name ?? ""), number: id.key.number)
  }

  private mutating func number(ofEntity name: String) -> UInt16 {
    if let number = entities[name] { return number }
    let number = UInt16(entityNames.count)
    entities[name] = number
    entityNames.append(name)
    return number
  }

  func text(_ number: Int32) -> String {
    // Only messages need that of a line.
    let key = keys[number] ?? numbers.first { $0.value == number }?.key ?? ""
    guard let mark = key.unicodeScalars.first, mark.value < Self.maxPrefixes, Int(mark.value) < prefixes.count else {
      return key
    }
    return prefixes[Int(mark.value)] + key.unicodeScalars.dropFirst().map(String.init).joined()
  }

  /// Control characters stand for prefixes.
  private static let maxPrefixes = 8

  private mutating func shortened(_ id: String) -> String {
    guard id.utf8.count > 15, let range = id.range(of: "://"),
      let slash = id[range.upperBound...].firstIndex(of: "/")
    else { return id }
    let prefix = String(id[...slash])
    var position = prefixes.firstIndex(of: prefix)
    if position == nil, prefixes.count < Self.maxPrefixes {
      position = prefixes.count
      prefixes.append(prefix)
    }
    guard let position, let mark = Unicode.Scalar(UInt32(position)) else { return id }
    return String(Character(mark)) + id[id.index(after: slash)...]
  }
}

/// The relationships of objects that have been saved and are no longer in memory.
struct SavedLinks {
  /// The fields are in an order that leaves no gaps.
  private struct Entry {
    let number: Int64
    let line: Int32
    let start: Int32
    let count: Int32
    let entity: UInt16
    let relationship: UInt16

    var object: ObjectPlace { ObjectPlace(entity: entity, number: number) }
  }

  private var entries: [Entry] = []
  private var names: [Int32] = []
  private(set) var relationships: [NSRelationshipDescription] = []
  /// The positions of those that have not been set yet.
  private(set) var pending: [Int32] = []

  var indices: Range<Int32> { 0..<Int32(entries.count) }

  mutating func add(_ link: ImportedLink, of object: ObjectPlace, isPending: Bool) {
    let number = relationships.firstIndex { $0 === link.relationship } ?? relationships.count
    if number == relationships.count { relationships.append(link.relationship) }
    if isPending { pending.append(Int32(entries.count)) }
    entries.append(
      Entry(
        number: object.number, line: Int32(truncatingIfNeeded: link.line), start: Int32(names.count),
        count: Int32(link.names.count), entity: object.entity, relationship: UInt16(number)))
    names += link.names
  }

  /// Sorts those that have not been set by their destination, and those to many objects, which have an order, to the end.
  mutating func sortPending() {
    let keys = pending.map { position -> Int64 in
      let entry = entries[Int(position)]
      if relationships[Int(entry.relationship)].isToMany { return .max }
      return entry.count == 0 ? -1 : Int64(entry.relationship) << 32 | Int64(names[Int(entry.start)])
    }
    let order = keys.indices.sorted { keys[$0] == keys[$1] ? $0 < $1 : keys[$0] < keys[$1] }
    pending = order.map { pending[$0] }
  }

  func relationship(_ position: Int32) -> NSRelationshipDescription {
    relationships[Int(entries[Int(position)].relationship)]
  }

  func place(_ position: Int32) -> ObjectPlace { entries[Int(position)].object }

  /// Returns how many identifiers an entry has.
  func count(_ position: Int32) -> Int { Int(entries[Int(position)].count) }

  /// Returns an entry with its object.
  func link(_ position: Int32, _ object: NSManagedObject) -> ImportedLink {
    let entry = entries[Int(position)]
    return ImportedLink(
      line: Int(entry.line), object: object, relationship: relationships[Int(entry.relationship)],
      names: Array(names[Int(entry.start)..<Int(entry.start + entry.count)]))
  }
}

/// The objects of the store by the value of a key, and the lines with a value, in little memory: a value is represented
/// by a hash of 128 bits with random seeds.
struct ImportedKeys {
  struct Mark: Hashable {
    private let high: Int
    private let low: Int

    init(_ text: String) {
      var (one, other) = (Hasher(), Hasher())
      one.combine(0)
      one.combine(text)
      other.combine(1)
      other.combine(text)
      (high, low) = (one.finalize(), other.finalize())
    }
  }

  private var found: [Mark: ObjectPlace] = [:]
  private var counts: [Mark: Int] = [:]

  mutating func add(_ place: ObjectPlace, _ mark: Mark) {
    if found.updateValue(place, forKey: mark) != nil { counts[mark, default: 1] += 1 }
  }

  func object(_ mark: Mark) -> ObjectPlace? { found[mark] }

  func count(_ mark: Mark) -> Int { counts[mark] ?? (found[mark] == nil ? 0 : 1) }
}
