// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The arrays of the to-many relationships of a context that were read or set last.
///
/// `trip.stops.append(stop)` reads an array and sets another one. Making the array of thousands of models each time would
/// take quadratic time. An array is used as long as its row's relationship has not changed.
final class CollectionCache {
  /// An array of models, whatever their class.
  class AnyArray {
    fileprivate let row: ModelRow
    fileprivate let name: String
    /// The members from which the array was made; nil if the array was set, and nothing has changed since.
    fileprivate var members: Set<NSManagedObject>?

    fileprivate init(_ row: ModelRow, _ name: String, _ members: Set<NSManagedObject>?) {
      (self.row, self.name, self.members) = (row, name, members)
    }

    /// Appends a model; returns false if it has another class.
    fileprivate func append(_ model: any PersistentModel) -> Bool { false }

    /// Whether the relationship still has these members.
    fileprivate var isCurrent: Bool {
      guard let members else { return true }
      guard let now = row.value(forKey: name) as? Set<NSManagedObject> else { return false }
      // The row returns the same set until the relationship changes. Comparing the members would take too long.
      return unsafeBitCast(members, to: UnsafeRawPointer.self) == unsafeBitCast(now, to: UnsafeRawPointer.self)
    }
  }

  private final class TypedArray<Model: PersistentModel>: AnyArray {
    var models: [Model]

    init(_ models: [Model], _ row: ModelRow, _ name: String, _ members: Set<NSManagedObject>?) {
      self.models = models
      super.init(row, name, members)
    }

    override func append(_ model: any PersistentModel) -> Bool {
      guard let model = model as? Model else { return false }
      models.append(model)
      return true
    }
  }

  private struct Key: Hashable {
    let row: ObjectIdentifier
    let name: String
  }

  /// Arrays retain their models, so that there must be few.
  private static let limit = 16
  private var arrays: [Key: AnyArray] = [:]
  /// Whether rows are deleted, whose removal from relationships is not announced.
  private var hasDeletions = false

  private func key(_ row: ModelRow, _ name: String) -> Key { Key(row: ObjectIdentifier(row), name: name) }

  /// Returns the models of a relationship if they are known.
  func models<Model: PersistentModel>(of row: ModelRow, _ name: String, as type: Model.Type) -> [Model]? {
    guard let known = arrays[key(row, name)] as? TypedArray<Model>, known.isCurrent else { return nil }
    return known.models
  }

  /// Keeps the models of a relationship.
  ///
  /// - Parameter members: the members that the row returns; nil if it has been given the models.
  func keep<Model: PersistentModel>(
    _ models: [Model], of row: ModelRow, _ name: String, members: Set<NSManagedObject>?
  ) {
    if members == nil, hasDeletions { return forget(row, name) }
    let key = key(row, name)
    if arrays[key] == nil, arrays.count >= Self.limit { removeAll() }
    arrays[key] = TypedArray(models, row, name, members)
    row.collections = self
  }

  /// Takes the array of a relationship that is about to get a further member; nil if it is not known.
  func take(_ row: ModelRow, _ name: String) -> AnyArray? {
    guard !hasDeletions, let known = arrays[key(row, name)], known.isCurrent else { return nil }
    return arrays.removeValue(forKey: key(row, name))
  }

  /// Puts an array back whose relationship has got a further member.
  func put(_ array: AnyArray, with model: any PersistentModel) {
    guard array.append(model) else { return }
    array.members = nil
    arrays[key(array.row, array.name)] = array
  }

  /// Forgets the array of a relationship that has changed.
  func forget(_ row: ModelRow, _ name: String) { arrays[key(row, name)] = nil }

  /// Forgets everything, because rows may have changed in ways that are not announced.
  func removeAll() { arrays = [:] }

  func noteDeletion() {
    hasDeletions = true
    removeAll()
  }

  /// Records that there are no unsaved changes any more.
  func noteSave() {
    hasDeletions = false
    removeAll()
  }
}
