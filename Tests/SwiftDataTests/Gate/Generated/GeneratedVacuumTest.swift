// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Written from the model of challenges.store by coredata model generate --swiftdata.

import Foundation
import SwiftData

/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.
enum GeneratedVacuumTest: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] {
    [Challenge.self]
  }

  @Model
  final class Challenge {
    var id: UUID
    var name: String
    var rating: Rating?

    init(id: UUID, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// Guessed from Challenge.rating: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Rating: String, Codable instead.
  struct Rating: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }
}
