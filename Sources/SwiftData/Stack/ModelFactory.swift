// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Makes the models of a class.
protocol ModelMaking {
  func make(_ row: ModelRow, _ context: ContextCore) -> any PersistentModel
}

struct ModelFactory<Model: PersistentModel>: ModelMaking {
  private let layout = ModelLayout.of(Model.self)
  /// Nil for a subclass: the declarations of its properties may create models of the superclass before the superclass's
  /// initializer asks for backing data.
  private let discarding: StorageCore?

  init() { discarding = layout.root == layout.type ? StorageCore(discarding: layout) : nil }

  func make(_ row: ModelRow, _ context: ContextCore) -> any PersistentModel {
    let storage = StorageCore(layout, row: row, in: context)
    ModelInCreation.set(discarding)
    let model = Model(backingData: ModelStorage<Model>(storage))
    ModelInCreation.set(nil)
    storage.model = model
    return model
  }
}

/// The model that the thread is making for a row.
///
/// The initializer sets all properties to the values of their declarations before it gets the row's storage. So it would
/// make a storage for each model that is fetched, fill and free it, which takes as long as all the rest.
enum ModelInCreation {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, nil)
    trap(unless: failure == 0, "The process has no thread-specific keys left (error \(failure)).")
    return key
  }()

  /// Sets what the initializer gets as its own storage, once.
  static func set(_ storage: StorageCore?) {
    pthread_setspecific(key, storage.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
  }

  /// Returns the storage for the initializer of a class; nil if no model of a row is being made, or one of another class:
  /// declarations may create further models.
  static func takeStorage(of type: any PersistentModel.Type) -> StorageCore? {
    guard let address = pthread_getspecific(key) else { return nil }
    let storage = Unmanaged<StorageCore>.fromOpaque(address).takeUnretainedValue()
    guard storage.layout.root == type else { return nil }
    set(nil)
    return storage
  }
}
