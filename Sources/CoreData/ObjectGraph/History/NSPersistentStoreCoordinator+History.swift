// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Dispatch
import Foundation

extension HistoryOrigin {
  /// The origin of changes by a context.
  init(_ context: NSManagedObjectContext) {
    self.init(
      ofProgramWithContextName: context.name ?? context.coordinator.migrationStageLabel,
      author: context.transactionAuthor)
  }
}

extension NSManagedObjectContext {
  /// The origin of what a request changes that this context executes. A child hands the request to its parent: the name and
  /// the author are those of the root of the tree, and those of a child where the contexts above it have none.
  var requestOrigin: HistoryOrigin {
    guard let parent else { return HistoryOrigin(self) }
    var origin = parent.queue.sync { parent.requestOrigin }
    origin.author = origin.author ?? transactionAuthor
    origin.contextName = origin.contextName ?? name
    return origin
  }
}

extension NSPersistentStoreCoordinator {
  /// Returns the position after the last transaction of stores.
  ///
  /// - Parameter stores: `NSPersistentStore`s of this coordinator; nil for all.
  /// - Returns: nil if none of the stores has history, or it cannot be read.
  public func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    withLock {
      let wanted = stores?.compactMap { $0 as? NSPersistentStore } ?? persistentStores
      var numbers: [String: Int64] = [:]
      for case let store as any HistoryStore in wanted where store.persistentStoreCoordinator === self {
        // An error is thrown by the next request for history.
        guard let identifier = store.identifier, let number = try? store.lastTransaction() else { continue }
        numbers[identifier] = number
      }
      return numbers.isEmpty ? nil : NSPersistentHistoryToken(numbers)
    }
  }

  /// Executes a request about history.
  func execute(_ request: NSPersistentHistoryChangeRequest) throws -> NSPersistentHistoryResult {
    try withLock {
      // Requests may be changed on other threads: each property is read once.
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

  /// Has all stores of this process with the same files post that they have changed.
  func postRemoteChanges(of urls: [URL?]) {
    RemoteChanges.post(of: urls.compactMap { $0 })
  }
}

/// Posts notifications of changed stores.
package enum RemoteChanges {
  /// Observers may use contexts, and the lock of another coordinator is needed, which must not be waited for by a caller that
  /// may hold its own: hence a queue.
  static let queue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  /// Posts for all stores at the locations, after a change by this process.
  static func post(of urls: [URL]) {
    guard OpenStores.arePosting else { return }
    queue.async {
      for url in urls {
        for store in OpenStores.postingStores(at: url) { post(store, url, isKnown: true) }
      }
    }
  }

  /// Posts for a store if another process has changed it. Called on the queue, after the files of the store were written.
  static func didWriteFiles(of store: SQLiteStore) {
    if let url = store.url { post(store, url, isKnown: false) }
  }

  /// Posts for a store that somebody has changed. May be called on any thread that does not hold the coordinator's lock.
  package static func didChange(_ store: NSPersistentStore) {
    queue.async { [weak store] in
      if let store, let url = store.url { post(store, url, isKnown: true) }
    }
  }

  /// - Parameter isKnown: whether the store is known to have been changed.
  private static func post(_ store: NSPersistentStore, _ url: URL, isKnown: Bool) {
    guard let coordinator = store.persistentStoreCoordinator else { return }
    var info: [AnyHashable: Any] = [NSPersistentStoreURLKey: url.withoutPassword]
    let isChanged = coordinator.withLock {
      info[NSStoreUUIDKey] = store.identifier
      // An error says nothing about the change; whoever reads the store next gets it.
      let others = (try? (store as? SQLiteStore)?.takeOthersCommits()) ?? true
      return isKnown || others
    }
    guard isChanged else { return }
    info[NSPersistentHistoryTokenKey] = coordinator.currentPersistentHistoryToken(fromStores: [store])
    NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: coordinator, userInfo: info)
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
      try store.readHistory(range(of: store), withChanges: needsChanges) { facts, all in
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

  /// Returns the transactions of changes, each once, in the order of their first changes.
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
    // A store that the token does not know was added later.
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
