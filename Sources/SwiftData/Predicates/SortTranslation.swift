// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Translates Foundation's sort descriptors.
struct SortTranslation {
  var names: any KeyPathNames = MetadataNames()

  /// Translates the descriptor of a model class.
  ///
  /// - Throws: `SwiftDataError.unsupportedSortDescriptor` for a property that a store does not order as Swift does.
  func descriptor<T: PersistentModel>(_ descriptor: SortDescriptor<T>) throws -> NSSortDescriptor {
    guard let keyPath = descriptor.keyPath else {
      throw SwiftDataError(
        .unsupportedSortDescriptor, "The sort descriptor compares \(T.self) as a whole. Give it a key path.")
    }
    let scalar = try scalar(keyPath, of: T.self)
    guard scalar.kind.isOrdered else {
      throw SwiftDataError(
        .unsupportedSortDescriptor,
        "A store orders the values of \(path(of: scalar)) in another way than Swift. Sort the fetched models.")
    }
    return NSSortDescriptor(
      key: path(of: scalar), ascending: descriptor.order == .forward, selector: try selector(descriptor))
  }

  /// Returns the name of the method that compares strings; nil for the order of their characters.
  private func selector<T>(_ descriptor: SortDescriptor<T>) throws -> String? {
    guard let comparator = descriptor.stringComparator else { return nil }
    // `lexical` is the only one that Foundation has on Linux. Others would be those of Apple's systems.
    if comparator == String.StandardComparator(.lexical, order: comparator.order) { return nil }
    throw SwiftDataError(.unsupportedSortDescriptor, "The sort descriptor has the comparator \(comparator).")
  }

  private func path(of scalar: Scalar) -> String { scalar.expression.keyPath }

  private func scalar(_ keyPath: AnyKeyPath, of type: any PersistentModel.Type) throws -> Scalar {
    let object = ObjectPath(row: RowPath(variable: nil), type: type, mayBeNil: false)
    do {
      let isProperty = names.property(keyPath, of: type) != nil
      let term =
        isProperty
        ? try object.property(keyPath, names) : try KeyPathProbe(keyPath, of: type).term(from: object, names)
      if case .scalar(let scalar) = term { return scalar }
    } catch let error as NotInStore {
      throw SwiftDataError(.unsupportedSortDescriptor, "\(error.reason).")
    }
    let name = names.property(keyPath, of: type).map { "'\($0.name)'" } ?? keyPath.words
    throw SwiftDataError(
      .unsupportedSortDescriptor,
      "\(name) is not an attribute of \(type) with one value, nor of the destination of a to-one relationship.")
  }
}
