// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// What a migration inside the store's file asks of the program that it runs in: its transformers and its functions.
package protocol ProgramValues {
  /// The default value of a transformable attribute as a save would write it; nil where that is no value.
  ///
  /// - Throws: `UnwritableDefault`.
  func archivedDefault(of attribute: AttributeDocument) throws -> Data?

  /// What a function of predicates makes of a text; nil for nothing.
  func text(_ function: String, of text: String) throws -> String?
}

/// A default value that cannot be written.
package struct UnwritableDefault: Error {
  /// Why, in a sentence; empty where nothing more is known.
  package let reason: String

  package init(reason: String) { self.reason = reason }
}
