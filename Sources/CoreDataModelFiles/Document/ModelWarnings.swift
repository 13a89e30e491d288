// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Collects what readers of a model pass over or correct, so that one odd value does not make the model unreadable.
package final class ModelWarnings {
  /// What was found, without repetitions: a composite type is read once for every attribute that uses it.
  package private(set) var list: [ModelFileError] = []

  /// Makes an empty list.
  package init() {}

  func add(_ warning: ModelFileError) {
    if !list.contains(warning) { list.append(warning) }
  }
}
