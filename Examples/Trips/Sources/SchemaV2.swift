// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// `begin` is called `startDate`, and trips have stops.
enum SchemaV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Trip.self, Stop.self] }

  @Model
  final class Trip {
    var name: String
    var destination: String
    @Attribute(originalName: "begin") var startDate: Date
    var notes: String = ""
    @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop] = []

    init(name: String, destination: String, startDate: Date) {
      self.name = name
      self.destination = destination
      self.startDate = startDate
    }
  }

  @Model
  final class Stop {
    var title: String
    var trip: Trip?

    init(title: String) {
      self.title = title
    }
  }
}
