// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The model in the program's resources, with all its versions.
enum DoneModel {
  /// Reads a version of the model.
  ///
  /// - Parameter version: The name of the version; nil for the current one.
  static func load(version: String? = nil) throws -> NSManagedObjectModel {
    guard let url = Bundle.module.url(forResource: "Done", withExtension: "xcdatamodeld") else {
      throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: "Done.xcdatamodeld"])
    }
    return try NSManagedObjectModel.load(contentsOf: url, version: version)
  }
}
