// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The models as they were shipped first.
enum SchemaV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Trip.self] }

  @Model
  final class Trip {
    var name: String
    var destination: String
    var begin: Date

    init(name: String, destination: String, begin: Date) {
      self.name = name
      self.destination = destination
      self.begin = begin
    }
  }
}
