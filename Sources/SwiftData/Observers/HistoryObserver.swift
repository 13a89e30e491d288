// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Synchronization

/// Counts what is saved to the stores of a container, by its own contexts and by other processes.
///
/// Read `eventCounter` in `withObservationTracking`, or in a view. When it changes, fetch history from the last known
/// token on. In stores of the program's own, the saves of the container's contexts are counted.
///
/// ```swift
/// let observer = HistoryObserver(observedModels: [Trip.self], modelContainer: container)
/// withObservationTracking { _ = observer.eventCounter } onChange: { importChanges() }
/// ```
///
/// Of Apple's class only the names are known. Here the counter is the number of transactions with changes of observed
/// models by the authors, after the tokens.
public final class HistoryObserver: Observable, Sendable {
  /// The container whose stores are observed.
  public let modelContainer: ModelContainer
  /// The classes whose changes are counted, with their subclasses; all if empty.
  public let observedModels: [any PersistentModel.Type]
  /// The authors whose transactions are counted; all, also those without an author, if empty.
  public let authors: Set<String>
  /// The number of transactions so far.
  public var eventCounter: Int { counter.signal.value }

  private let counter: TransactionCounter
  private let changes: ContainerChanges

  /// Begins to observe.
  ///
  /// - Parameters:
  ///   - historyTokens: positions in history; transactions of their stores after them are counted. Without tokens, only
  ///     transactions from now on are.
  ///   - observedModels: the classes whose changes are counted; all if empty.
  ///   - authors: the authors whose transactions are counted; all if empty.
  ///   - modelContainer: the container.
  ///   - isolation: the actor of the caller. Changes are noticed on any thread.
  public init(
    historyTokens: [any HistoryToken] = [], observedModels: [any PersistentModel.Type] = [],
    authors: Set<String> = [], modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) {
    self.modelContainer = modelContainer
    self.observedModels = observedModels
    self.authors = authors
    let counter = TransactionCounter(
      modelContainer, Set(observedModels.map { String(describing: $0) }), authors,
      after: historyTokens.compactMap { $0 as? DefaultHistoryToken })
    self.counter = counter
    changes = ContainerChanges(
      of: modelContainer, didSave: { counter.didSave($0) }, didChange: { counter.schedule() })
  }
}

/// Counts transactions with certain changes.
private final class TransactionCounter: Sendable {
  let signal = ChangeSignal()
  private let container: ModelContainer
  private let entities: Set<String>
  private let authors: Set<String>
  private let queue = DispatchQueue(label: "HistoryObserver")
  private let position: Mutex<Position>

  /// How far history has been read.
  private struct Position {
    var token: NSPersistentHistoryToken?
    /// The last transactions, by store.
    var numbers: [String: Int64] = [:]
  }

  init(
    _ container: ModelContainer, _ entities: Set<String>, _ authors: Set<String>, after tokens: [DefaultHistoryToken]
  ) {
    (self.container, self.entities, self.authors) = (container, entities, authors)
    var start = Position()
    if tokens.isEmpty {
      start.token = container.coordinator.currentPersistentHistoryToken(fromStores: nil)
    } else {
      for token in tokens { start.numbers.merge(token.tokenValue ?? [:]) { max($0, $1) } }
    }
    position = Mutex(start)
    if !tokens.isEmpty { schedule() }
  }

  /// Counts a save to a store of the program's own, and reads the history of the others.
  func didSave(_ models: SavedModels) {
    let own = models.identifiers.filter { container.dataStore($0.storeIdentifier) != nil }
    if own.contains(where: { isObserved($0.entityName) }), isCounted(models.author) { signal.add() }
    if own.count < models.identifiers.count { schedule() }
  }

  /// Reads history on another thread, since the caller may hold locks.
  func schedule() { queue.async { [weak self] in self?.read() } }

  private func read() {
    let count = position.withLock { position in
      let new = transactions(after: position.token).filter {
        $0.transactionNumber > position.numbers[$0.storeID] ?? 0
      }
      for transaction in new {
        position.numbers[transaction.storeID] = max(
          position.numbers[transaction.storeID] ?? 0, transaction.transactionNumber)
      }
      if let last = new.last { position.token = last.token }
      return new.count { transaction in
        isCounted(transaction.author)
          && (transaction.changes ?? []).contains { isObserved($0.changedObjectID.entity.name ?? "") }
      }
    }
    if count > 0 { signal.add(count) }
  }

  private func transactions(after token: NSPersistentHistoryToken?) -> [NSPersistentHistoryTransaction] {
    let stores = container.coreDataStores
    if stores.isEmpty { return [] }
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = container.coordinator
    return context.performAndWait {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      request.resultType = .transactionsAndChanges
      request.affectedStores = stores
      // An error means that the transactions after the token have been deleted; see below.
      if let result = try? context.execute(request) as? NSPersistentHistoryResult {
        return result.result as? [NSPersistentHistoryTransaction] ?? []
      }
      // Those that remain are told apart by their numbers.
      guard token != nil else { return [] }
      return transactions(after: nil)
    }
  }

  private func isCounted(_ author: String?) -> Bool { authors.isEmpty || author.map { authors.contains($0) } ?? false }

  private func isObserved(_ entity: String) -> Bool {
    var next = container.schema.entitiesByName[entity]
    if entities.isEmpty { return next != nil }
    while let entity = next {
      if entities.contains(entity.name) { return true }
      next = entity.superentity
    }
    return false
  }
}
