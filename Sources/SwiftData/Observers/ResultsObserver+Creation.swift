// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension ModelContainer {
  /// Returns the context for an observer: that of the main actor for the main actor, a new one for others.
  fileprivate func context(for isolation: (any Actor)?) -> ModelContext {
    guard isolation === MainActor.shared else { return ModelContext(self) }
    return MainActor.assumeIsolated {
      // The caller runs on the main actor, to which the context belongs.
      nonisolated(unsafe) let context = mainContext
      return UncheckedContext(context: context)
    }.context
  }
}

private struct UncheckedContext: @unchecked Sendable {
  let context: ModelContext
}

extension ResultsObserver where SectionName == Never {
  /// Observes the results of a fetch.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: what is fetched.
  ///   - modelContext: the context.
  ///   - isolation: the actor of the context.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, nil, modelContext) }

  /// Observes the results of a fetch in the main context if the caller is isolated to the main actor, and in a new
  /// context otherwise.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, nil, modelContainer.context(for: isolation)) }

  /// Observes the models that fulfil a condition.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), nil, modelContext) }

  /// Observes the models that fulfil a condition, in a context as with a descriptor.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), nil, modelContainer.context(for: isolation))
  }
}

extension ResultsObserver where SectionName == String {
  /// Observes the results of a fetch, grouped by a property.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, sectionBy, modelContext) }

  /// Observes the results of a fetch, grouped by a property.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, sectionBy, modelContainer.context(for: isolation)) }

  /// Observes the models that fulfil a condition, grouped by a property.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], sectionBy: KeyPath<Element, String>,
    modelContext: ModelContext, isolation: isolated (any Actor)? = #isolation
  ) { self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContext) }

  /// Observes the models that fulfil a condition, grouped by a property.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], sectionBy: KeyPath<Element, String>,
    modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContainer.context(for: isolation))
  }
}

extension ResultsObserver where SectionName == String? {
  /// Observes the results of a fetch, grouped by a property that may be nil.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String?>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, sectionBy, modelContext) }

  /// Observes the results of a fetch, grouped by a property that may be nil.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String?>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) { self.init(fetchDescriptor, sectionBy, modelContainer.context(for: isolation)) }

  /// Observes the models that fulfil a condition, grouped by a property that may be nil.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], sectionBy: KeyPath<Element, String?>,
    modelContext: ModelContext, isolation: isolated (any Actor)? = #isolation
  ) { self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContext) }

  /// Observes the models that fulfil a condition, grouped by a property that may be nil.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], sectionBy: KeyPath<Element, String?>,
    modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContainer.context(for: isolation))
  }
}
