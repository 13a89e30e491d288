// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of jdeda/iOS-ChefTime, from iOS 17.0.
enum ChefTime {
  static let models: [any PersistentModel.Type] = [
    SDAboutSection.self, SDFolder.self, SDIngredient.self, SDIngredientSection.self, SDRecipe.self, SDStep.self,
    SDStepSection.self,
  ]

  enum FolderType: Codable {
    case systemAll, systemStandard, systemRecentlyDeleted, user
  }

  @Model
  final class SDAboutSection {
    var description_: String = ""
    @Attribute(.unique) var id: UUID
    var name: String = ""
    @Relationship(inverse: \SDRecipe.aboutSections) var parentRecipe: SDRecipe?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDFolder {
    var folderType: FolderType
    @Relationship(deleteRule: .cascade, inverse: \SDFolder.parentFolder) var folders: [SDFolder]
    @Attribute(.unique) var id: UUID
    var imageData: Data?
    var name: String
    var parentFolder: SDFolder?
    @Relationship(deleteRule: .cascade, inverse: \SDRecipe.parentFolder) var recipes: [SDRecipe]

    init(folderType: FolderType, id: UUID, name: String, folders: [SDFolder] = [], recipes: [SDRecipe] = []) {
      self.folderType = folderType
      self.folders = folders
      self.id = id
      self.name = name
      self.recipes = recipes
    }
  }

  @Model
  final class SDIngredient {
    var amount: Double = 0
    @Attribute(.unique) var id: UUID
    var measure: String = ""
    var name: String = ""
    @Relationship(inverse: \SDIngredientSection.ingredients) var parentIngredientSection: SDIngredientSection?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDIngredientSection {
    @Attribute(.unique) var id: UUID
    @Relationship(deleteRule: .cascade) var ingredients: [SDIngredient]
    var name: String = ""
    @Relationship(inverse: \SDRecipe.ingredientSections) var parentRecipe: SDRecipe?

    init(id: UUID, ingredients: [SDIngredient] = []) {
      self.id = id
      self.ingredients = ingredients
    }
  }

  @Model
  final class SDRecipe {
    @Relationship(deleteRule: .cascade) var aboutSections: [SDAboutSection]
    @Attribute(.unique) var id: UUID
    var imageData: [Data] = []
    @Relationship(deleteRule: .cascade) var ingredientSections: [SDIngredientSection]
    var name: String = ""
    var parentFolder: SDFolder?
    @Relationship(deleteRule: .cascade, inverse: \SDStepSection.parentRecipe) var stepSections: [SDStepSection]

    init(
      id: UUID, aboutSections: [SDAboutSection] = [], ingredientSections: [SDIngredientSection] = [],
      stepSections: [SDStepSection] = []
    ) {
      self.aboutSections = aboutSections
      self.id = id
      self.ingredientSections = ingredientSections
      self.stepSections = stepSections
    }
  }

  @Model
  final class SDStep {
    var description_: String = ""
    @Attribute(.unique) var id: UUID
    var imageData: [Data] = []
    @Relationship(inverse: \SDStepSection.steps) var parentStepSection: SDStepSection?

    init(id: UUID) {
      self.id = id
    }
  }

  @Model
  final class SDStepSection {
    @Attribute(.unique) var id: UUID
    var name: String = ""
    var parentRecipe: SDRecipe?
    @Relationship(deleteRule: .cascade) var steps: [SDStep]

    init(id: UUID, steps: [SDStep] = []) {
      self.id = id
      self.steps = steps
    }
  }
}
