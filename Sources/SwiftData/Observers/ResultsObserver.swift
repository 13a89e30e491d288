// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Synchronization

/// The results of a fetch, which stay up to date: reading them in `withObservationTracking`, or in a view, observes
/// changes of the context, saves of other contexts, and saves of other processes.
///
/// An observer belongs to the thread or actor of its context. A change anywhere notifies those who have read the
/// results, possibly on another thread; the models are fetched again when the results are read the next time. So the
/// results are never older than the last change, and several changes cost one fetch.
///
/// ```swift
/// let trips = ResultsObserver(sortBy: [SortDescriptor(\Trip.name)], modelContext: context)
/// let names = withObservationTracking { trips.results.map(\.name) } onChange: { update() }
/// ```
///
/// Of Apple's class only the names are known, not how it tells errors: see `fetchError`.
public final class ResultsObserver<Element: PersistentModel, SectionName: Hashable>: Observable {
  /// The context that fetches the models.
  public let modelContext: ModelContext
  /// What is fetched. Setting it fetches again.
  public var fetchDescriptor: FetchDescriptor<Element> {
    get {
      _ = signal.value
      return descriptor
    }
    set {
      descriptor = newValue
      signal.add()
    }
  }
  /// The property by which the results are grouped; nil if they are not. Setting it groups them again.
  public var sectionBy: KeyPath<Element, SectionName>? {
    get {
      _ = signal.value
      return sectionPath
    }
    set {
      sectionPath = newValue
      signal.add()
    }
  }
  /// The condition of the fetch. Setting it fetches again.
  public var filterBy: Predicate<Element>? {
    get { fetchDescriptor.predicate }
    set { fetchDescriptor.predicate = newValue }
  }
  /// The order of the results. Setting it fetches again.
  public var sortBy: [SortDescriptor<Element>] {
    get { fetchDescriptor.sortBy }
    set { fetchDescriptor.sortBy = newValue }
  }
  /// The error of the last fetch, which then has no results; nil if there was none. An addition to Apple's API.
  public var fetchError: (any Error)? { current().error }
  /// The models.
  public var results: FetchResultsCollection<Element> { current().results }
  /// The models, grouped by `sectionBy`: in the order of the results, each group where its first model is. Empty if
  /// `sectionBy` is nil.
  public var sections: ResultsSectionCollection<Element, SectionName> { current().sections }

  private var descriptor: FetchDescriptor<Element>
  private var sectionPath: KeyPath<Element, SectionName>?
  private let signal: ChangeSignal
  private let changes: ContainerChanges
  private let known: KnownHistory
  private var cached: Fetched?

  /// The results of one fetch.
  private struct Fetched {
    var number: Int
    var models: [Element]
    var results: FetchResultsCollection<Element>
    var sections: ResultsSectionCollection<Element, SectionName>
    var error: (any Error)?
  }

  init(
    _ descriptor: FetchDescriptor<Element>, _ sectionPath: KeyPath<Element, SectionName>?, _ context: ModelContext
  ) {
    self.descriptor = descriptor
    self.sectionPath = sectionPath
    modelContext = context
    let signal = ChangeSignal()
    let known = KnownHistory(context.container.coordinator)
    self.signal = signal
    self.known = known
    changes = ContainerChanges(
      of: context.container, didSave: { _ in signal.add() },
      didChange: {
        // Saves of this process have been noticed already, unless the results were read in between.
        if known.isOutdated() { signal.add() }
      })
    context.core.observers.add(self)
  }

  private func current() -> Fetched {
    let number = signal.value
    if let cached, cached.number == number { return cached }
    known.update()
    let fetched: Fetched
    do {
      let models = try modelContext.fetch(descriptor)
      fetched = Fetched(
        number: number, models: models, results: FetchResultsCollection(models),
        sections: ResultsSectionCollection(models, by: sectionPath))
    } catch {
      fetched = Fetched(
        number: number, models: [], results: FetchResultsCollection([]),
        sections: ResultsSectionCollection([], by: nil), error: error)
    }
    cached = fetched
    return fetched
  }

  /// Returns the model at a position: of a section and in it, or, without sections, of section 0 and in the results.
  public func element(at indexPath: IndexPath) -> Element {
    sectionPath == nil ? results[indexPath[1]] : sections[indexPath[0]][indexPath[1]]
  }

  /// Returns the position of a model: of its section and in it, or, without sections, 0 and that in the results. Returns
  /// nil for a model that is not among the results.
  public func indexPath(for element: Element) -> IndexPath? {
    guard sectionPath != nil else {
      return current().models.firstIndex { $0 === element }.map { IndexPath(indexes: [0, $0]) }
    }
    for (position, section) in sections.enumerated() {
      if let index = section.firstIndex(where: { $0 === element }) { return IndexPath(indexes: [position, index]) }
    }
    return nil
  }

}

extension ResultsObserver: ContextObserver {
  func contextDidChange() { signal.add() }
}

/// The position in the history of a container's stores at the last fetch.
private final class KnownHistory: Sendable {
  private let coordinator: NSPersistentStoreCoordinator
  private let token = Mutex<NSPersistentHistoryToken?>(nil)

  init(_ coordinator: NSPersistentStoreCoordinator) { self.coordinator = coordinator }

  func update() {
    let current = coordinator.currentPersistentHistoryToken(fromStores: nil)
    token.withLock { $0 = current }
  }

  func isOutdated() -> Bool {
    let current = coordinator.currentPersistentHistoryToken(fromStores: nil)
    return token.withLock { $0 != current }
  }
}
