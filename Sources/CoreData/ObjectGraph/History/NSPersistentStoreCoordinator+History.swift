// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

extension HistoryOrigin {
  /// Creates the origin of a context's changes.
  init(_ context: NSManagedObjectContext) {
    self.init(
      ofProgramWithContextName: context.name ?? context.coordinator.migrationStageLabel,
      author: context.transactionAuthor)
  }
}

extension NSManagedObjectContext {
  /// The origin of changes by a request that this context executes. A child passes the request to its parent. So the
  /// name and the author are those of the root of the tree, or of the nearest descendant on the way that has them.
  var requestOrigin: HistoryOrigin {
    guard let parent else { return HistoryOrigin(self) }
    var origin = parent.queue.sync(isErrand: true) { parent.requestOrigin }
    origin.author = origin.author ?? transactionAuthor
    origin.contextName = origin.contextName ?? name
    return origin
  }
}

extension NSPersistentStoreCoordinator {
  /// Executes a request about history.
  func execute(_ request: NSPersistentHistoryChangeRequest) throws -> NSPersistentHistoryResult {
    try withLock {
      // Requests may be changed on other threads, so each property is read once.
      let specification = request.fetchRequest?.specification
      let affected = request.affectedStores ?? specification?.affectedStores ?? persistentStores
      let stores = affected.compactMap { $0 as? any HistoryStore }.filter(\.hasHistory)
      guard !stores.isEmpty else { throw HistoryErrors.notRecorded(url: affected.first?.url) }
      if request.deletes { return try delete(request, in: stores) }
      return try HistoryFetch(request, specification).result(of: stores)
    }
  }

  private func delete(
    _ request: NSPersistentHistoryChangeRequest, in stores: [any HistoryStore]
  ) throws -> NSPersistentHistoryResult {
    var count = 0
    for store in stores {
      switch request.position {
      case .beginning: continue
      case .date(let date): count += try store.deleteHistory(before: .time(date.timeIntervalSinceReferenceDate))
      case .token(let token):
        guard let number = store.identifier.flatMap({ token.numbers[$0] }) else { continue }
        count += try store.deleteHistory(before: .number(number))
      }
    }
    if request.resultType == .count { return NSPersistentHistoryResult(NSNumber(value: count), .count) }
    return NSPersistentHistoryResult(NSNumber(value: true), .statusOnly)
  }
}

/// Fetches history, and applies the fetch request to it.
private struct HistoryFetch {
  private let position: NSPersistentHistoryChangeRequest.Position
  private let resultType: NSPersistentHistoryResultType
  private let specification: FetchSpecification?
  private let fetchesChanges: Bool
  private let predicate: PredicateSyntax?
  private let order: [SortKey]

  init(_ request: NSPersistentHistoryChangeRequest, _ specification: FetchSpecification?) throws {
    position = request.position
    resultType = request.resultType
    self.specification = specification
    let entity = specification?.entity
    fetchesChanges = entity === HistoryEntities.change
    if let specification, !fetchesChanges, entity !== HistoryEntities.transaction {
      throw HistoryErrors.badRequest(
        "The fetch request is for '\(entity?.name ?? specification.entityName ?? "")'.",
        suggestion: "Use NSPersistentHistoryTransaction.fetchRequest or NSPersistentHistoryChange.fetchRequest.")
    }
    do {
      predicate = try specification?.predicate.map { try PredicateSyntax($0).comparingHistory() }
      order = try (specification?.sortDescriptors ?? []).map { try SortKey($0) }
    } catch let opaque as OpaqueCriterion {
      throw HistoryErrors.badRequest(opaque.description, suggestion: "Filter and sort the results in memory.")
    }
  }

  private var needsChanges: Bool {
    switch resultType {
    case .objectIDs, .changesOnly, .transactionsAndChanges: true
    case .statusOnly, .count, .transactionsOnly:
      fetchesChanges || (predicate?.keyPaths ?? []).contains { $0.hasPrefix("changes") }
    }
  }

  func result(of stores: [any HistoryStore]) throws -> NSPersistentHistoryResult {
    do {
      return try found(in: stores)
    } catch let error as EvaluationError {
      throw HistoryErrors.badRequest(
        error.description, suggestion: "Correct the predicate or the order of the fetch request.")
    }
  }

  private func found(in stores: [any HistoryStore]) throws -> NSPersistentHistoryResult {
    var transactions: [NSPersistentHistoryTransaction] = []
    var changes: [NSPersistentHistoryChange] = []
    for store in stores {
      try store.readHistory(range(of: store), withChanges: needsChanges) { facts, found in
        let bare = NSPersistentHistoryTransaction(facts, store: store.identifier ?? "", changes: nil)
        let all = found.map { NSPersistentHistoryChange($0, in: bare) }
        if fetchesChanges {
          changes += try all.filter(isWanted)
        } else {
          let whole = transaction(facts, store, all)
          guard try isWanted(whole) else { return }
          changes += all
          let isBare = resultType != .transactionsAndChanges && needsChanges
          transactions.append(isBare ? transaction(facts, store, nil) : whole)
        }
      }
    }
    if fetchesChanges {
      changes = try window(sorted(changes))
    } else {
      let kept = try window(sorted(transactions))
      if kept.count < transactions.count || !order.isEmpty {
        let byTransaction = Dictionary(grouping: changes) { $0.transaction }
        changes = kept.flatMap { byTransaction[$0] ?? [] }
      }
      transactions = kept
    }
    return NSPersistentHistoryResult(value(transactions, changes), resultType)
  }

  private func transaction(
    _ facts: HistoryTransaction, _ store: any HistoryStore, _ changes: [NSPersistentHistoryChange]?
  ) -> NSPersistentHistoryTransaction {
    NSPersistentHistoryTransaction(facts, store: store.identifier ?? "", changes: needsChanges ? changes : nil)
  }

  private func value(
    _ transactions: [NSPersistentHistoryTransaction], _ changes: [NSPersistentHistoryChange]
  ) -> Any {
    switch resultType {
    case .statusOnly: return NSNumber(value: true)
    case .objectIDs:
      var seen: Set<NSManagedObjectID> = []
      return changes.map(\.changedObjectID).filter { seen.insert($0).inserted }
    case .count: return NSNumber(value: fetchesChanges ? changes.count : transactions.count)
    case .changesOnly: return changes
    case .transactionsOnly:
      guard fetchesChanges else { return transactions }
      return grouped(changes).map(\.bare)
    case .transactionsAndChanges:
      guard fetchesChanges else { return transactions }
      return grouped(changes).map { $0.bare.adding($0.changes) }
    }
  }

  /// Returns the distinct transactions of changes, in the order of their first changes.
  private func grouped(
    _ changes: [NSPersistentHistoryChange]
  ) -> [(bare: NSPersistentHistoryTransaction, changes: [NSPersistentHistoryChange])] {
    var groups: [(bare: NSPersistentHistoryTransaction, changes: [NSPersistentHistoryChange])] = []
    var positions: [NSPersistentHistoryTransaction: Int] = [:]
    for change in changes {
      guard let bare = change.transaction else { continue }
      if let position = positions[bare] {
        groups[position].changes.append(change)
      } else {
        positions[bare] = groups.count
        groups.append((bare, [change]))
      }
    }
    return groups
  }

  private func range(of store: any HistoryStore) -> HistoryReader.Range {
    switch position {
    case .beginning: .all
    case .date(let date): .since(date.timeIntervalSinceReferenceDate)
    // The store was added after the token was created.
    case .token(let token): store.identifier.flatMap { token.numbers[$0] }.map { .after($0) } ?? .all
    }
  }

  private func isWanted(_ object: NSObject) throws -> Bool {
    try predicate.map { try PredicateEvaluator().evaluate($0, with: object) } ?? true
  }

  private func sorted<Element: NSObject>(_ objects: [Element]) throws -> [Element] {
    if order.isEmpty { return objects }
    let rows = try objects.enumerated().map { offset, object in
      (offset, object, try order.map { try KeyPathReader.value($0.keyPath, of: object) })
    }
    return try rows.sorted { left, right in
      for (position, key) in order.enumerated() {
        switch try key.order(left.2[position], right.2[position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return left.0 < right.0
    }.map(\.1)
  }

  private func window<Element>(_ objects: [Element]) -> [Element] {
    var result = objects[...]
    if let offset = specification?.fetchOffset, offset > 0 { result = result.dropFirst(offset) }
    if let limit = specification?.fetchLimit, limit > 0 { result = result.prefix(limit) }
    return Array(result)
  }
}
