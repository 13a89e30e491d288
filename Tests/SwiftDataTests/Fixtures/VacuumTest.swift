// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of keithsharp/VacuumTest.
enum VacuumTest {
  static let models: [any PersistentModel.Type] = [Challenge.self]

  enum Rating: String, Codable {
    case easy = "Easy"
    case medium = "Medium"
    case hard = "Hard"
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
}
