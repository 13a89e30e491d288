// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The layout of the slots of an entity's objects.
///
/// Attributes come first, then relationships, each sorted by name, including inherited ones. Fetched properties have no
/// slot, because each access executes their request.
package final class SlotTable: @unchecked Sendable {
  /// The property of a slot.
  package enum Property {
    case attribute(NSAttributeDescription)
    case relationship(NSRelationshipDescription)
  }

  package let properties: [Property]
  package let names: [String]
  /// The position of the first relationship; all following slots are relationships.
  package let firstRelationship: Int
  /// The slots of a new object.
  package let defaults: [Slot]
  /// The type of each attribute; undefined for relationships.
  package let kinds: [NSAttributeType]
  /// Whether each to-many relationship is ordered; nil for other properties.
  private let membersAreOrdered: [Bool?]
  /// Whether each property is transient.
  private let transient: [Bool]
  /// The positions of transient properties.
  package let transients: [Int]
  /// The default values of transient attributes, which fetched objects start with.
  package let transientDefaults: [(position: Int, value: Slot)]
  /// The positions of properties whose values the model restricts.
  package let restricted: [Int]
  /// The positions of integer attributes of less than 64 bits.
  package let ranged: [Int]
  private let positions: NameTable
  /// A number that is unique among the tables of the process, from 1. Unlike an address, it is never reused.
  package let number: UInt32

  private static let lastNumber = Atomic<UInt32>(0)

  package init(_ entity: NSEntityDescription) {
    number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    let attributes = entity.attributesByName.sorted { $0.key < $1.key }
    let relationships = entity.relationshipsByName.sorted { $0.key < $1.key }
    names = attributes.map(\.key) + relationships.map(\.key)
    properties = attributes.map { .attribute($0.value) } + relationships.map { .relationship($0.value) }
    firstRelationship = attributes.count
    positions = NameTable(names)
    kinds = attributes.map(\.value.attributeType) + relationships.map { _ in .undefinedAttributeType }
    membersAreOrdered =
      attributes.map { _ in nil } + relationships.map { $0.value.isToMany ? $0.value.isOrdered : nil }
    let transient = attributes.map(\.value.isTransient) + relationships.map(\.value.isTransient)
    self.transient = transient
    transients = transient.indices.filter { transient[$0] }
    restricted =
      attributes.indices.filter { attributes[$0].value.restrictsValues }
      + relationships.indices.filter { relationships[$0].value.restrictsMembers }
      .map { $0 + attributes.count }
    ranged = attributes.indices.filter { attributes[$0].value.attributeType.hasRange }
    let defaults: [Slot] =
      attributes.map { Slot(defaultOf: $0.value) }
      + relationships.map { $0.value.isToMany ? .toMany(ToMany(isOrdered: $0.value.isOrdered)) : .null }
    self.defaults = defaults
    transientDefaults = attributes.indices.filter { attributes[$0].value.isTransient && !defaults[$0].isNull }
      .map { ($0, defaults[$0]) }
  }

  package var count: Int { properties.count }

  /// Returns the position of a property; nil if the entity has no such attribute or relationship.
  package func position(of name: String) -> Int? { positions.position(of: name) }

  package func isTransient(at position: Int) -> Bool { transient[position] }

  /// Returns whether the members of a to-many relationship are ordered; nil for other properties. Retaining the
  /// description instead, to which there are weak references, takes as long as the rest of a read.
  package func areMembersOrdered(at position: Int) -> Bool? { membersAreOrdered[position] }

  /// Returns whether each slot holds the same property as in another table.
  package func isLaidOut(like other: SlotTable) -> Bool {
    guard names == other.names, kinds == other.kinds, transient == other.transient,
      firstRelationship == other.firstRelationship
    else { return false }
    let haveSameElements = (0..<firstRelationship).allSatisfy {
      attribute(at: $0)?.document.elements == other.attribute(at: $0)?.document.elements
    }
    return haveSameElements
      && (firstRelationship..<count).allSatisfy { position in
        guard let mine = relationship(at: position), let theirs = other.relationship(at: position) else { return false }
        return mine.isToMany == theirs.isToMany && mine.isOrdered == theirs.isOrdered
          && mine.destinationEntity?.name == theirs.destinationEntity?.name
      }
  }

  package func attribute(at position: Int) -> NSAttributeDescription? {
    if case .attribute(let attribute) = properties[position] { return attribute }
    return nil
  }

  package func relationship(at position: Int) -> NSRelationshipDescription? {
    if case .relationship(let relationship) = properties[position] { return relationship }
    return nil
  }
}

extension NSEntityDescription {
  /// The layout of the slots of this entity's objects.
  package var slotTable: SlotTable { slotTableState.value { SlotTable(self) } }
}

extension NSAttributeDescription {
  /// Whether the model rejects some values of the attribute's type.
  fileprivate var restrictsValues: Bool {
    !isOptional || !validations.isEmpty || self is NSCompositeAttributeDescription
  }
}

extension NSRelationshipDescription {
  /// Whether the model rejects some numbers of destinations.
  fileprivate var restrictsMembers: Bool { !isOptional || (isToMany && (minCount > 0 || maxCount > 0)) }
}

/// A hash table from names to positions that is faster than a dictionary.
///
/// Every access to a property by key looks up its name. A dictionary hashes the whole name with a function that
/// withstands attacks, which is unnecessary for the names in a model.
package struct NameTable: Sendable {
  private let names: [String]
  /// Positions in `names` by hash, -1 in a free bucket. Collisions go to the next free bucket.
  private let buckets: [Int32]
  private let mask: Int
  /// Finds names in another Unicode normalization form, which are equal but have other bytes.
  private let positions: [String: Int]

  package init(_ names: [String]) {
    self.names = names
    var size = 4
    while size < names.count * 2 { size *= 2 }
    mask = size - 1
    var buckets = [Int32](repeating: -1, count: size)
    for (position, name) in names.enumerated() {
      var bucket = NameTable.hash(name) & mask
      while buckets[bucket] >= 0 { bucket = (bucket + 1) & mask }
      buckets[bucket] = Int32(position)
    }
    self.buckets = buckets
    positions = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  package func position(of name: String) -> Int? {
    var bucket = NameTable.hash(name) & mask
    while buckets[bucket] >= 0 {
      let position = Int(buckets[bucket])
      if names[position] == name { return position }
      bucket = (bucket + 1) & mask
    }
    return positions[name]
  }

  /// Hashes the length and the first, middle and last bytes, which distinguish most names of an entity.
  private static func hash(_ name: String) -> Int {
    let bytes = name.utf8
    let count = bytes.count
    guard count > 0 else { return 0 }
    let quick = bytes.withContiguousStorageIfAvailable { bytes in
      mixed(count, bytes[0], bytes[count / 2], bytes[count - 1])
    }
    if let quick { return quick }
    let all = Array(bytes)
    return mixed(count, all[0], all[count / 2], all[count - 1])
  }

  private static func mixed(_ count: Int, _ first: UInt8, _ middle: UInt8, _ last: UInt8) -> Int {
    var hash = UInt64(count) &* 0x9E37_79B9
    hash = (hash ^ UInt64(first)) &* 0x0100_0193
    hash = (hash ^ UInt64(middle)) &* 0x0100_0193
    hash = (hash ^ UInt64(last)) &* 0x0100_0193
    return Int(truncatingIfNeeded: (hash ^ (hash >> 15)) & 0x7FFF_FFFF)
  }
}

/// A set of slot positions as a bit set, which allocates memory only for positions from 64.
package struct SlotSet: Hashable, Sequence {
  private static let wordSize = UInt64.bitWidth

  private var first: UInt64 = 0
  /// The bits after the first 64.
  private var others: [UInt64] = []

  package init() {}

  package init(_ positions: some Sequence<Int>) {
    for position in positions { insert(position) }
  }

  package var isEmpty: Bool { first == 0 && others.allSatisfy { $0 == 0 } }

  package func contains(_ position: Int) -> Bool {
    let (word, bit) = (position / Self.wordSize, UInt64(1) << UInt64(position % Self.wordSize))
    if word == 0 { return first & bit != 0 }
    return word <= others.count && others[word - 1] & bit != 0
  }

  package mutating func insert(_ position: Int) {
    let (word, bit) = (position / Self.wordSize, UInt64(1) << UInt64(position % Self.wordSize))
    guard word > 0 else {
      first |= bit
      return
    }
    while others.count < word { others.append(0) }
    others[word - 1] |= bit
  }

  package func makeIterator() -> Iterator { Iterator(left: first, others: others) }

  /// Iterates over the positions in ascending order.
  package struct Iterator: IteratorProtocol {
    fileprivate var left: UInt64
    fileprivate let others: [UInt64]
    private var word = 0

    fileprivate init(left: UInt64, others: [UInt64]) {
      self.left = left
      self.others = others
    }

    package mutating func next() -> Int? {
      while left == 0 {
        guard word < others.count else { return nil }
        left = others[word]
        word += 1
      }
      let bit = left.trailingZeroBitCount
      left &= left - 1
      return word * SlotSet.wordSize + bit
    }
  }
}
