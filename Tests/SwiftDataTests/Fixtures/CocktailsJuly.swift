// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of MatthewHunt84/MetaCocktailsSwiftData in July 2024.
enum CocktailsJuly {
  static let models: [any PersistentModel.Type] = [
    Cocktail.self, CocktailImage.self, Garnish.self, Ingredient.self, IngredientBase.self,
  ]

  @Model
  final class Cocktail {
    #Index<Cocktail>([\.cocktailName], [\.collectionName], [\.cocktailName, \.collectionName])
    var author: Author?
    var buildOrder: BuildOrder?
    @Attribute(.unique) var cocktailName: String
    var collection: Shelf?
    var collectionName: String
    var compiledTags: Tags = Tags()
    @Relationship(inverse: \Garnish.cocktails) var garnish: [Garnish]
    var glasswareType: Glassware
    var ice: Ice?
    var id: UUID = UUID()
    var imageAsset: CocktailImage?
    @Relationship(deleteRule: .cascade) var spec: [Ingredient]
    var titleCocktail: Bool?
    var variation: Variation?

    init(
      cocktailName: String, collectionName: String, glasswareType: Glassware, garnish: [Garnish] = [],
      spec: [Ingredient] = []
    ) {
      self.cocktailName = cocktailName
      self.collectionName = collectionName
      self.garnish = garnish
      self.glasswareType = glasswareType
      self.spec = spec
    }
  }

  @Model
  final class CocktailImage {
    var backgroundColor: Color
    var drinkColor: Color
    var drinkLayer: String
    var garnishes: [String]?
    var glassBackLayer: String
    var glassReflection: String
    var iceLayer: String?
    var inDrinkComponents: [String]?
    var innerRim: String
    var straw: String?

    init(
      backgroundColor: Color, drinkColor: Color, drinkLayer: String, glassBackLayer: String, glassReflection: String,
      innerRim: String
    ) {
      self.backgroundColor = backgroundColor
      self.drinkColor = drinkColor
      self.drinkLayer = drinkLayer
      self.glassBackLayer = glassBackLayer
      self.glassReflection = glassReflection
      self.innerRim = innerRim
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
    var category: Category
    var info: String?
    var isCustom: Bool
    @Attribute(.unique) var name: String
    var prep: Preparation?
    var tags: Tags?

    init(category: Category, isCustom: Bool, name: String) {
      self.category = category
      self.isCustom = isCustom
      self.name = name
    }
  }
}
