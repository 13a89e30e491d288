// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Synchronization

/// A number that changes with whatever it stands for. Reading it in `withObservationTracking` observes the changes, which
/// any thread may make.
final class ChangeSignal: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private let number = Mutex(0)

  var value: Int {
    registrar.access(self, keyPath: \.value)
    return number.withLock { $0 }
  }

  func add(_ count: Int = 1) {
    number.withLock { $0 += count }
    // Observers are called before a mutation. One that reads the number at once, on another thread, must not find the old
    // one, because it would not be called again.
    registrar.withMutation(of: self, keyPath: \.value) {}
  }
}

/// What the contexts of a container save, and what others save to its stores.
final class ContainerChanges: Sendable {
  private nonisolated(unsafe) let tokens: [any NSObjectProtocol]

  /// Begins to observe.
  ///
  /// - Parameters:
  ///   - container: the container.
  ///   - didSave: called by each save of a context of the container, on its thread.
  ///   - didChange: called on another thread when a store has changed, also by other processes.
  init(
    of container: ModelContainer, didSave: @escaping @Sendable (SavedModels) -> Void,
    didChange: @escaping @Sendable () -> Void
  ) {
    let coordinator = container.coordinator
    tokens = [
      NotificationCenter.default.addObserver(forName: ModelContext.didSave, object: nil, queue: nil) {
        [weak container] note in
        guard let context = note.object as? ModelContext, context.container === container else { return }
        didSave(SavedModels(note.userInfo ?? [:], author: context.author))
      },
      NotificationCenter.default.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
      ) { _ in didChange() },
    ]
  }

  deinit {
    for token in tokens { NotificationCenter.default.removeObserver(token) }
  }
}

/// The models of a save.
struct SavedModels: Sendable {
  let author: String?
  let identifiers: [PersistentIdentifier]

  init(_ info: [AnyHashable: Any], author: String?) {
    self.author = author
    let keys: [ModelContext.NotificationKey] = [.insertedIdentifiers, .updatedIdentifiers, .deletedIdentifiers]
    identifiers = keys.flatMap { info[$0.rawValue] as? [PersistentIdentifier] ?? [] }
  }
}
