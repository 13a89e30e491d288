// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Written from the model of default.store by coredata model generate --swiftdata.

import Foundation
import SwiftData

/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.
enum GeneratedCocktails: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] {
    [Cocktail.self, CocktailImage.self, Garnish.self, Ingredient.self, IngredientBase.self]
  }

  @Model
  final class Cocktail {
    #Index<Cocktail>([\.cocktailName], [\.collectionName], [\.cocktailName, \.collectionName])

    var author: Author?
    var buildOrder: BuildOrder?
    @Attribute(.unique) var cocktailName: String
    var collection: Collection?
    var collectionName: String
    var compiledTags: CompiledTags
    var glasswareType: GlasswareType
    var ice: Ice?
    var id: UUID = UUID()
    var titleCocktail: Bool?
    var variation: Variation?
    @Relationship(inverse: \Garnish.cocktails) var garnish: [Garnish] = []
    var imageAsset: CocktailImage?
    @Relationship(deleteRule: .cascade) var spec: [Ingredient] = []

    init(
      cocktailName: String,
      collectionName: String,
      compiledTags: CompiledTags,
      glasswareType: GlasswareType
    ) {
      self.cocktailName = cocktailName
      self.collectionName = collectionName
      self.compiledTags = compiledTags
      self.glasswareType = glasswareType
    }
  }

  @Model
  final class CocktailImage {
    var backgroundColor: BackgroundColor
    var drinkColor: BackgroundColor
    var drinkLayer: String
    var garnishes: [String]?
    var glassBackLayer: String
    var glassReflection: String
    var iceLayer: String?
    var inDrinkComponents: [String]?
    var innerRim: String
    var straw: String?

    init(
      backgroundColor: BackgroundColor,
      drinkColor: BackgroundColor,
      drinkLayer: String,
      glassBackLayer: String,
      glassReflection: String,
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
    @Attribute(.unique) var name: String
    var cocktails: [Cocktail]?

    init(name: String) {
      self.name = name
    }
  }

  @Model
  final class Ingredient {
    var id: UUID
    var unit: Unit
    var value: Double
    var ingredientBase: IngredientBase

    init(id: UUID, unit: Unit, value: Double, ingredientBase: IngredientBase) {
      self.id = id
      self.unit = unit
      self.value = value
      self.ingredientBase = ingredientBase
    }
  }

  @Model
  final class IngredientBase {
    var category: Category
    var info: String?
    var isCustom: Bool
    @Attribute(.unique) var name: String
    var prep: Prep?
    var tags: CompiledTags?

    init(category: Category, isCustom: Bool, name: String) {
      self.category = category
      self.isCustom = isCustom
      self.name = name
    }
  }

  /// Guessed from Cocktail.author: a struct of the app.
  /// Its parts are optional in the model, as the attribute is: in the app, they may be required.
  struct Author: Codable {
    var id: UUID?
    var person: String?
    var place: String?
    var year: String?
  }

  /// Guessed from Cocktail.buildOrder: a struct of the app.
  /// Its parts are optional in the model, as the attribute is: in the app, they may be required.
  struct BuildOrder: Codable {
    var instructions: Data?
  }

  /// Guessed from Cocktail.collection: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Collection: Int, Codable instead.
  struct Collection: RawRepresentable, Codable, Hashable {
    var rawValue: Int
  }

  /// Guessed from Cocktail.compiledTags: a struct of the app.
  struct CompiledTags: Codable {
    var flavors: Data?
    var profiles: Data?
    var styles: Data?
    var booze: Data?
    var nA: Data?
  }

  /// Guessed from Cocktail.glasswareType: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum GlasswareType: String, Codable instead.
  struct GlasswareType: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  /// Guessed from Cocktail.ice: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Ice: String, Codable instead.
  struct Ice: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  /// Guessed from Cocktail.variation: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Variation: String, Codable instead.
  struct Variation: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  /// Guessed from CocktailImage.backgroundColor: a struct of the app.
  struct BackgroundColor: Codable {
    var linearRed: Float
    var linearGreen: Float
    var linearBlue: Float
    var opacity: Float
  }

  /// Guessed from Ingredient.unit: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Unit: String, Codable instead.
  struct Unit: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  /// Guessed from IngredientBase.category: the raw values of an enum of the app. The store does not have its cases:
  /// declare the enum Category: String, Codable instead.
  struct Category: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  /// Guessed from IngredientBase.prep: a struct of the app.
  /// Its parts are optional in the model, as the attribute is: in the app, they may be required.
  struct Prep: Codable {
    var id: UUID?
    var prepIngredientName: String?
    var prepRecipe: Data?
  }
}
