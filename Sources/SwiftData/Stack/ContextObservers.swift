// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Told of changes in a context, on the context's thread.
protocol ContextObserver: AnyObject {
  func contextDidChange()
}

/// The observers of a context.
struct ContextObservers {
  private struct Entry {
    weak var observer: (any ContextObserver)?
  }

  private var entries: [Entry] = []
  var isEmpty: Bool { entries.isEmpty }

  mutating func add(_ observer: any ContextObserver) {
    entries.removeAll { $0.observer == nil }
    entries.append(Entry(observer: observer))
  }

  func notify() {
    for entry in entries { entry.observer?.contextDidChange() }
  }
}
