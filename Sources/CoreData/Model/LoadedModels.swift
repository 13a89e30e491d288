// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The models that coordinators use, for classes that look up their entity without a context.
enum LoadedModels {
  private struct Entry {
    weak var model: NSManagedObjectModel?
  }

  private static let lock = NSLock()
  private nonisolated(unsafe) static var entries: [Entry] = []

  /// Adds a model that a coordinator is about to use.
  static func add(_ model: NSManagedObjectModel) {
    lock.withLock {
      entries.removeAll { $0.model == nil || $0.model === model }
      entries.append(Entry(model: model))
    }
  }

  /// The models in use, most recently used first.
  static var all: [NSManagedObjectModel] { lock.withLock { entries.reversed().compactMap(\.model) } }
}
