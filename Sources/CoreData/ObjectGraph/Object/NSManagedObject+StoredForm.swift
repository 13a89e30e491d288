// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// Sets a transformable attribute to a stored form, without decoding it. Programs without the app's classes and
  /// transformers can copy such values in this way.
  ///
  /// - Parameters:
  ///   - data: the stored form, as a store contains it.
  ///   - key: the name of a transformable attribute.
  package func setStoredForm(_ data: Data, forKey key: String) {
    willChangeValue(forKey: key)
    replace(.archived(data), at: position(of: key))
    didChangeValue(forKey: key)
  }

  /// Returns the stored form of a transformable attribute; nil if it has no value.
  ///
  /// - Throws: 134060 for a value that cannot be archived.
  package func storedForm(forKey key: String) throws -> Data? {
    let position = position(of: key)
    willAccessValue(forKey: key)
    defer { didAccessValue(forKey: key) }
    switch slot(at: position) {
    case .archived(let data): return data
    case .unarchived(let value): return value.data
    case .object(let value):
      guard let attribute = table.attribute(at: position) else { return nil }
      return try TransformableValues.encode(value, of: attribute)
    default: return nil
    }
  }
}
