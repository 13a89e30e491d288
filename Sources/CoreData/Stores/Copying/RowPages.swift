// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The rows of a store, page by page.
package struct RowPages {
  /// The maximum number of rows in a page.
  package static let maxCount = 2_048
  /// The target size of a page, in bytes.
  private static let wantedSize = 4 << 20

  private let store: any RowStore
  private let entity: NSEntityDescription
  private let limit: Int
  /// The number of rows in the next page; grows while rows are small.
  private var count: Int
  private var next: Int64?
  /// All rows of a store that keeps them in memory.
  private var held: [RowSnapshot]?
  private var position = 0

  /// - Parameters:
  ///   - entity: the entity of the rows, without its sub-entities.
  ///   - last: only rows with greater numbers are read; nil for all.
  ///   - limit: the greatest number of rows of a page.
  package init(
    _ store: any RowStore, _ entity: NSEntityDescription, after last: Int64? = nil, limit: Int = maxCount
  ) {
    (self.store, self.entity, self.limit) = (store, entity, limit)
    count = min(limit, 64)
    next = last.map { $0 == .max ? nil : $0 + 1 } ?? .min
  }

  /// Returns the next rows, in the order of their numbers; empty after the last one.
  ///
  /// - Throws: 134070 for a store whose rows cannot be listed, and for a value whose file is missing; the store's errors.
  package mutating func page() throws -> [RowSnapshot] {
    if store is any RowTableStore { return try pageOfHeld() }
    guard let first = next else { return [] }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.keys = first...Int64.max
    query.limit = count
    let rows = try Self.rows(query, of: store)
    let last = rows.last?.key.number ?? .max
    next = rows.count < count || last == .max ? nil : last + 1
    let size = rows.reduce(0) { $0 + $1.copiedSize }
    let fitting = rows.isEmpty ? limit : max(1, Self.wantedSize / max(1, size / rows.count))
    count = min(limit, fitting, count * 2)
    return rows
  }

  /// Returns the next page of the rows in memory. Reading a range from such a store would search all of its rows.
  private mutating func pageOfHeld() throws -> [RowSnapshot] {
    let rows: [RowSnapshot]
    if let held {
      rows = held
    } else {
      let all = try Self.rows(RowQuery(entity: entity, includesSubentities: false), of: store)
      rows = next.map { first in all.filter { $0.key.number >= first } } ?? []
      held = rows
    }
    let page = rows[position..<min(position + limit, rows.count)]
    position += page.count
    return Array(page)
  }

  private static func rows(_ query: RowQuery, of store: any RowStore) throws -> [RowSnapshot] {
    if let rows = try store.rows(for: query) {
      try ErrorTranslation.translating(url: store.url, during: .use) {
        for row in rows { try row.requireReadable() }
      }
      return rows
    }
    throw StoreErrors.operationFailed(
      url: store.url, reason: "The rows of a store of the type '\(store.type)' cannot be listed.")
  }
}

extension RowSnapshot {
  /// The approximate size in memory, in bytes. Decoded rows are small, or are kept by their store anyway.
  fileprivate var copiedSize: Int { packed?.size ?? 1_024 }
}

/// The numbers of a store's rows by entity, as runs of consecutive numbers.
package struct PresentKeys {
  /// The numbers of one entity's rows.
  package struct Numbers {
    /// Runs in ascending order, not adjacent to one another.
    package private(set) var runs: [ClosedRange<Int64>] = []
    package private(set) var count = 0

    /// Adds a number that is greater than all others.
    fileprivate mutating func append(_ number: Int64) {
      count += 1
      if let last = runs.last, last.upperBound == number - 1 {
        runs[runs.count - 1] = last.lowerBound...number
      } else {
        runs.append(number...number)
      }
    }

    package func contains(_ number: Int64) -> Bool {
      var (low, high) = (0, runs.count)
      while low < high {
        let middle = (low + high) / 2
        if runs[middle].upperBound < number { low = middle + 1 } else { high = middle }
      }
      return low < runs.count && runs[low].contains(number)
    }

    /// Returns the number of rows up to a number.
    package func count(through number: Int64) -> Int {
      runs.prefix { $0.lowerBound <= number }.reduce(0) { $0 + Int(min($1.upperBound, number) - $1.lowerBound + 1) }
    }

    /// Calls a body with groups of numbers, in ascending order.
    ///
    /// - Parameters:
    ///   - last: only greater numbers are passed; nil for all.
    ///   - body: returns how many numbers it takes next.
    package func inParts(
      after last: Int64? = nil, of first: Int, _ body: ([Int64]) throws -> Int
    ) rethrows {
      var (count, part): (Int, [Int64]) = (max(1, first), [])
      for run in runs where last.map({ run.upperBound > $0 }) ?? true {
        for number in max(run.lowerBound, last.map { $0 + 1 } ?? run.lowerBound)...run.upperBound {
          part.append(number)
          guard part.count >= count else { continue }
          count = max(1, try body(part))
          part.removeAll(keepingCapacity: true)
        }
      }
      if !part.isEmpty { _ = try body(part) }
    }
  }

  /// The entities that the store has tables for, sorted by name.
  package let entities: [NSEntityDescription]
  private let positions: [ObjectIdentifier: Int]
  private let positionsByName: [String: Int]
  /// For each entity, the entities that its references may lead to: itself, then the others of its hierarchy.
  private let hierarchies: [[Int]]
  private(set) var numbers: [Numbers]
  /// A hash of the numbers and versions of all rows, which changes with every save; empty if it was not requested.
  package private(set) var state = ContentHash.none

  /// Reads the numbers of all rows.
  ///
  /// - Parameter hashesVersions: whether to compute the state, which requires reading all rows.
  /// - Throws: 134070 for a store whose rows cannot be listed; the store's errors.
  package init(of store: any RowStore, _ model: NSManagedObjectModel, hashesVersions: Bool = false) throws {
    let entities = model.entities.filter { store.hasTable(for: $0) }.sorted { ($0.name ?? "") < ($1.name ?? "") }
    self.entities = entities
    positions = Dictionary(uniqueKeysWithValues: entities.enumerated().map { (ObjectIdentifier($1), $0) })
    positionsByName = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.name ?? "", $0) })
    let roots = entities.map { ObjectIdentifier($0.rootEntity) }
    hierarchies = entities.indices.map { own in
      [own] + entities.indices.filter { $0 != own && roots[$0] == roots[own] }
    }
    numbers = Array(repeating: Numbers(), count: entities.count)
    for (position, entity) in entities.enumerated() {
      if hashesVersions {
        try readVersions(store, entity, position)
      } else {
        try readNumbers(store, entity, position)
      }
    }
  }

  private mutating func readVersions(_ store: any RowStore, _ entity: NSEntityDescription, _ position: Int) throws {
    var pages = RowPages(store, entity)
    while case let rows = try pages.page(), !rows.isEmpty {
      for row in rows {
        let number = row.key.number
        numbers[position].append(number)
        var hash = ContentHash(seed: UInt64(position))
        hash.add(UInt64(bitPattern: number))
        hash.add(UInt64(bitPattern: row.version))
        state += hash
      }
    }
  }

  private mutating func readNumbers(_ store: any RowStore, _ entity: NSEntityDescription, _ position: Int) throws {
    if store is any RowTableStore {
      var pages = RowPages(store, entity)
      while case let rows = try pages.page(), !rows.isEmpty {
        for row in rows { numbers[position].append(row.key.number) }
      }
      return
    }
    let limit = 8 * RowPages.maxCount
    var query = RowQuery(entity: entity, includesSubentities: false)
    (query.keys, query.limit) = (Int64.min...Int64.max, limit)
    while true {
      guard let found = try store.identifiers(for: query) else {
        throw StoreErrors.operationFailed(
          url: store.url, reason: "The rows of a store of the type '\(store.type)' cannot be listed.")
      }
      for id in found { numbers[position].append(id.key.number) }
      guard found.count == limit, let last = found.last?.key.number, last < .max else { return }
      query.keys = (last + 1)...Int64.max
    }
  }

  /// The number of rows.
  package var count: Int { numbers.reduce(0) { $0 + $1.count } }

  /// The number after the greatest one in use.
  package var firstFree: Int64 {
    let greatest = numbers.compactMap { $0.runs.last?.upperBound }.max() ?? 0
    return greatest == .max ? .max : greatest + 1
  }

  /// Returns, for each entity, new numbers for the rows whose number is also used by a row of an earlier entity.
  ///
  /// - Parameter first: the first new number.
  /// - Throws: 134070 if no numbers are left.
  package func renumbered(from first: Int64) throws -> [[Int64: Int64]] {
    var (taken, next): (Set<Int64>, Int64) = ([], first)
    return try numbers.map { numbers in
      var renumbered: [Int64: Int64] = [:]
      for number in numbers.runs.joined() where !taken.insert(number).inserted {
        guard next < .max else {
          throw StoreErrors.operationFailed(
            url: nil, reason: "No identifiers are left for new objects: the last one in the store is \(next).")
        }
        renumbered[number] = next
        next += 1
      }
      return renumbered
    }
  }

  /// Returns the numbers of an entity's rows.
  package subscript(entity: Int) -> Numbers { numbers[entity] }

  /// Returns the position of the entity of the row that an identifier refers to; nil if there is no such row.
  package func entity(of id: NSManagedObjectID) -> Int? {
    let description = id.entityDescription
    guard let own = positions[ObjectIdentifier(description)] ?? positionsByName[description.name ?? ""] else {
      return nil
    }
    return hierarchies[own].first { numbers[$0].contains(id.key.number) }
  }
}

extension NSEntityDescription {
  /// The entity at the top of the hierarchy.
  package var rootEntity: NSEntityDescription {
    var entity = self
    while let parent = entity.superentity { entity = parent }
    return entity
  }
}
