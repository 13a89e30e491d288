// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Written from the model of mock_original.store by coredata model generate --swiftdata.

import Foundation
import SwiftData

/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.
enum GeneratedChefTime: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] {
    [
      SDAboutSection.self,
      SDFolder.self,
      SDIngredient.self,
      SDIngredientSection.self,
      SDRecipe.self,
      SDStep.self,
      SDStepSection.self,
    ]
  }

  @Model
  final class SDAboutSection {
    var description_: String = ""
    @Attribute(.unique) var id: UUID
    var name: String = ""
    var parentRecipe: SDRecipe?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDFolder {
    var folderType: FolderType
    @Attribute(.unique) var id: UUID
    var imageData: Data?
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \SDFolder.parentFolder) var folders: [SDFolder] = []
    var parentFolder: SDFolder?
    @Relationship(deleteRule: .cascade, inverse: \SDRecipe.parentFolder) var recipes: [SDRecipe] = []

    init(folderType: FolderType, id: UUID, name: String) {
      self.folderType = folderType
      self.id = id
      self.name = name
    }
  }

  @Model
  final class SDIngredient {
    var amount: Double = 0.0
    @Attribute(.unique) var id: UUID
    var measure: String = ""
    var name: String = ""
    var parentIngredientSection: SDIngredientSection?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDIngredientSection {
    @Attribute(.unique) var id: UUID
    var name: String = ""
    @Relationship(deleteRule: .cascade, inverse: \SDIngredient.parentIngredientSection)
    var ingredients: [SDIngredient] = []
    var parentRecipe: SDRecipe?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDRecipe {
    @Attribute(.unique) var id: UUID
    var imageData: [Data] = []
    var name: String = ""
    @Relationship(deleteRule: .cascade, inverse: \SDAboutSection.parentRecipe)
    var aboutSections: [SDAboutSection] = []
    @Relationship(deleteRule: .cascade, inverse: \SDIngredientSection.parentRecipe)
    var ingredientSections: [SDIngredientSection] = []
    var parentFolder: SDFolder?
    @Relationship(deleteRule: .cascade, inverse: \SDStepSection.parentRecipe)
    var stepSections: [SDStepSection] = []

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDStep {
    var description_: String = ""
    @Attribute(.unique) var id: UUID
    var imageData: [Data] = []
    var parentStepSection: SDStepSection?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDStepSection {
    @Attribute(.unique) var id: UUID
    var name: String = ""
    var parentRecipe: SDRecipe?
    @Relationship(deleteRule: .cascade, inverse: \SDStep.parentStepSection) var steps: [SDStep] = []

    init(id: UUID) {
      self.id = id
    }
  }

  /// Guessed from SDFolder.folderType: an enum without raw values.
  enum FolderType: Codable {
    case systemAll
    case systemStandard
    case systemRecentlyDeleted
    case user
  }
}
