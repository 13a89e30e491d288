// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

// The models of the tests.

struct Place: Codable, Equatable {
  var city: String
  var postcode: String?
  var latitude: Double
}

enum Mood: String, Codable {
  case good, bad
}

enum Size: Codable, Equatable {
  case small, large
}

@Model
final class Trip {
  @Attribute(.unique) var name: String
  var days = 3
  var tags: [String] = []
  var start: Date?
  var place: Place?
  var mood: Mood = Mood.good
  var size = Size.small
  var scores: [String: Int] = [:]
  @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop] = []
  @Transient var visits = 0

  init(name: String) {
    self.name = name
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

/// A model that refers to models of its own class.
@Model
final class Folder {
  var name: String
  @Attribute(.preserveValueOnDeletion) var key = "k"
  @Relationship(inverse: \Folder.children) var parent: Folder?
  var children: [Folder] = []

  init(name: String) {
    self.name = name
  }
}

/// A container in memory for all models of the tests.
func makeContainer() throws -> ModelContainer {
  try ModelContainer(for: Trip.self, Folder.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
}
