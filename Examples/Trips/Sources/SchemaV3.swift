// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// Names are unique, a trip has a kind, and its stops have positions on a map.
enum SchemaV3: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Trip.self, Stop.self] }

  enum Kind: String, Codable {
    case city, hike
  }

  struct Position: Codable {
    var latitude: Double
    var longitude: Double
  }

  @Model
  final class Trip {
    @Attribute(.unique) var name: String
    var destination: String
    var startDate: Date
    var notes: String = ""
    var kind: Kind = Kind.city
    @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop] = []

    init(name: String, destination: String, startDate: Date, kind: Kind = .city) {
      self.name = name
      self.destination = destination
      self.startDate = startDate
      self.kind = kind
    }
  }

  @Model
  final class Stop {
    var title: String
    var position: Position?
    var trip: Trip?

    init(title: String, position: Position? = nil) {
      self.title = title
      self.position = position
    }
  }
}

typealias Trip = SchemaV3.Trip
typealias Stop = SchemaV3.Stop
