// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of MatthewHunt84/MetaCocktailsSwiftData since November 2024.
enum CocktailsNovember {
  static let models: [any PersistentModel.Type] = [Cocktail.self, Garnish.self, Ingredient.self, IngredientBase.self]

  @Model
  final class Cocktail {
    #Index<Cocktail>([\.cocktailName], [\.collectionName], [\.cocktailName, \.collectionName])
    var author: Author?
    var buildOrder: BuildOrder?
    @Attribute(.unique) var cocktailName: String
    var collection: Shelf?
    var collectionName: String
    var compiledTags: Tags = Tags()
    var favorite: Bool
    @Relationship(inverse: \Garnish.cocktails) var garnish: [Garnish]
    var glasswareType: Glassware
    var historicSpec: HistoricSpec?
    var ice: Ice?
    var id: UUID = UUID()
    var isCustomCocktail: Bool
    var notes: String?
    @Relationship(deleteRule: .cascade) var spec: [Ingredient]
    var titleCocktail: Bool?
    var variation: Variation?
    var variationName: String?

    init(
      cocktailName: String, collectionName: String, favorite: Bool, glasswareType: Glassware, isCustomCocktail: Bool,
      garnish: [Garnish] = [], spec: [Ingredient] = []
    ) {
      self.cocktailName = cocktailName
      self.collectionName = collectionName
      self.favorite = favorite
      self.garnish = garnish
      self.glasswareType = glasswareType
      self.isCustomCocktail = isCustomCocktail
      self.spec = spec
    }
  }

  @Model
  final class Garnish {
    var cocktails: [Cocktail]?
    @Attribute(.unique) var name: String

    init(name: String, cocktails: [Cocktail]? = []) {
      self.cocktails = cocktails
      self.name = name
    }
  }

  @Model
  final class Ingredient {
    var id: UUID
    var ingredientBase: IngredientBase
    var unit: Unit
    var value: Double

    init(id: UUID, ingredientBase: IngredientBase, unit: Unit, value: Double) {
      self.id = id
      self.ingredientBase = ingredientBase
      self.unit = unit
      self.value = value
    }
  }

  @Model
  final class IngredientBase {
    var baseCategory: String
    var id: UUID
    var info: String?
    var isCustom: Bool = false
    @Attribute(.unique) var name: String
    var prep: Preparation?
    var specialtyCategory: String
    var tags: Tags?
    var umbrellaCategory: String

    init(baseCategory: String, id: UUID, name: String, specialtyCategory: String, umbrellaCategory: String) {
      self.baseCategory = baseCategory
      self.id = id
      self.name = name
      self.specialtyCategory = specialtyCategory
      self.umbrellaCategory = umbrellaCategory
    }
  }
}
