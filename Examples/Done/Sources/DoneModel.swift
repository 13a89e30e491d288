// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The model that the program carries as a resource, in all its versions.
enum DoneModel {
  /// Reads a version of the model.
  ///
  /// - Parameter version: the version's name; nil for the current one.
  static func load(version: String? = nil) throws -> NSManagedObjectModel {
    guard let url = Bundle.module.url(forResource: "Done", withExtension: "xcdatamodeld") else {
      throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: "Done.xcdatamodeld"])
    }
    return try NSManagedObjectModel.load(contentsOf: url, version: version)
  }
}
