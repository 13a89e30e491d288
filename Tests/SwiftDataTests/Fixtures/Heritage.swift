// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of Hamanto-Studio/heritg.
enum Heritage {
  static let models: [any PersistentModel.Type] = [FamilyRelationship.self, FamilyTree.self, Person.self]

  @Model
  final class FamilyRelationship {
    var createdAt: Date = Date()
    var fromPersonID: String = ""
    var id: String = ""
    var kindRaw: String = "parent"
    var marriageDate: Date?
    var subtypeRaw: String = ""
    var toPersonID: String = ""
    var treeID: String = ""

    init() {
    }
  }

  @Model
  final class FamilyTree {
    var createdAt: Date = Date()
    var id: String = ""
    var lastSelectedPersonID: String?
    var title: String = ""
    var updatedAt: Date = Date()

    init() {
    }
  }

  @Model
  final class Person {
    var addressLine: String = ""
    var birthDate: Date?
    var birthDatePrecisionRaw: String = "exact"
    var city: String = ""
    var country: String = ""
    var createdAt: Date = Date()
    var deathDate: Date?
    var displayName: String = ""
    var genderRaw: String = "unspecified"
    var id: String = ""
    var notes: String = ""
    var postalCode: String = ""
    @Attribute(.externalStorage) var profilePhotoData: Data?
    var province: String = ""
    var treeID: String = ""

    init() {
    }
  }
}
