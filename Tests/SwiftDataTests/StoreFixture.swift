// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

/// A store that Apple's SwiftData wrote, with model classes for its schema.
struct StoreFixture: CustomTestStringConvertible {
  let url: URL
  let project: Project
  var testDescription: String { Fixtures.name(of: url) }

  /// A schema of a project.
  struct Project: Sendable {
    /// What the paths of the schema's stores begin with.
    let path: String
    let models: [any PersistentModel.Type]
    /// Inserts models that refer to no others of the store, and returns their number.
    let insert: @Sendable (ModelContext, Int) -> Int
  }

  /// All stores, by their projects.
  static let all: [StoreFixture] = Fixtures.swiftDataStores.compactMap { url in
    let name = Fixtures.name(of: url)
    return projects.first { name.hasPrefix("swiftdata/\($0.path)") }.map { StoreFixture(url: url, project: $0) }
  }

  static let projects: [Project] = [
    Project(path: "Hamanto-Studio__heritg/", models: Heritage.models) { context, number in
      context.insert(Heritage.Person())
      context.insert(Heritage.FamilyTree())
      return 2
    },
    Project(path: "MatthewHunt84__MetaCocktailsSwiftData/2024-07", models: CocktailsJuly.models) { context, number in
      let base = CocktailsJuly.IngredientBase(category: .gin, isCustom: true, name: "New \(number)")
      base.tags = CocktailsJuly.Tags(
        flavors: [.almond], booze: [CocktailsJuly.Component(name: "New", ingredientType: .gins("Gin"))])
      base.prep = CocktailsJuly.Preparation(
        prepIngredientName: "New", prepRecipe: [CocktailsJuly.Step(step: 1, method: "Stir")])
      let cocktail = CocktailsJuly.Cocktail(
        cocktailName: "New \(number)", collectionName: "New", glasswareType: .coupe,
        garnish: [CocktailsJuly.Garnish(name: "New \(number)")],
        spec: [CocktailsJuly.Ingredient(id: UUID(), ingredientBase: base, unit: .oz, value: 1.5)])
      cocktail.compiledTags.styles = [.stirred]
      cocktail.author = CocktailsJuly.Author(person: "Nobody")
      cocktail.collection = .third
      let color = CocktailsJuly.Color(linearRed: 0.1, linearGreen: 0.2, linearBlue: 0.3, opacity: 1)
      cocktail.imageAsset = CocktailsJuly.CocktailImage(
        backgroundColor: color, drinkColor: color, drinkLayer: "a", glassBackLayer: "b", glassReflection: "c",
        innerRim: "d")
      cocktail.imageAsset?.garnishes = ["a", "b"]
      context.insert(cocktail)
      return 5
    },
    Project(path: "MatthewHunt84__MetaCocktailsSwiftData/", models: CocktailsNovember.models) { context, number in
      let base = CocktailsNovember.IngredientBase(
        baseCategory: "", id: UUID(), name: "New \(number)", specialtyCategory: "", umbrellaCategory: "Gin")
      let cocktail = CocktailsNovember.Cocktail(
        cocktailName: "New \(number)", collectionName: "New", favorite: true, glasswareType: .coupe,
        isCustomCocktail: true, garnish: [CocktailsNovember.Garnish(name: "New \(number)")],
        spec: [CocktailsNovember.Ingredient(id: UUID(), ingredientBase: base, unit: .oz, value: 1.5)])
      cocktail.compiledTags.styles = [.stirred]
      cocktail.historicSpec = .bramble
      context.insert(cocktail)
      return 4
    },
    Project(path: "atomicguy__Retroview/2024-06", models: RetroviewJune.models) { context, number in
      let card = RetroviewJune.StereoCard(uuid: UUID())
      card.titles = [RetroviewJune.Title(text: "First"), RetroviewJune.Title(text: "Second")]
      card.titlePick = card.titles.first
      card.dates = [RetroviewJune.Date(text: "1900")]
      card.imageFront = Data(repeating: 1, count: 2_000)
      context.insert(card)
      return 4
    },
    Project(path: "atomicguy__Retroview/", models: RetroviewDecember.models) { context, number in
      let card = RetroviewDecember.StereoCard(
        colorOpacity: 0.5, uuid: UUID(), authors: [RetroviewDecember.Author(name: "New")])
      card.crops = [RetroviewDecember.Crop(score: 0.1, side: "left", x0: 0, x1: 1, y0: 0, y1: 1)]
      let collection = RetroviewDecember.Collection(createdAt: .now, id: UUID(), name: "New", updatedAt: .now)
      collection.cards = [card]
      collection.cardOrder = [card.uuid.uuidString]
      context.insert(collection)
      return 4
    },
    Project(path: "gym0915__IslandNotes/", models: IslandNotes.models) { context, number in
      context.insert(IslandNotes.NoteRecord(body: "New", createdAt: .now, id: UUID(), modifiedAt: .now))
      return 1
    },
    Project(path: "jdeda__iOS-ChefTime/", models: ChefTime.models) { context, number in
      let folder = ChefTime.SDFolder(folderType: .systemStandard, id: UUID(), name: "New")
      folder.folders = [ChefTime.SDFolder(folderType: .user, id: UUID(), name: "Inner")]
      let recipe = ChefTime.SDRecipe(id: UUID())
      recipe.imageData = [Data([1]), Data([2])]
      folder.recipes = [recipe]
      context.insert(folder)
      return 3
    },
    Project(path: "keithsharp__VacuumTest/", models: VacuumTest.models) { context, number in
      let challenge = VacuumTest.Challenge(id: UUID(), name: "New")
      challenge.rating = number == 0 ? .medium : nil
      context.insert(challenge)
      return 1
    },
    Project(path: "sergd2005__ResourcesManager/", models: ResourcesManager.models) { context, number in
      let recipe = ResourcesManager.CraftingRecipe()
      recipe.producedItem = ResourcesManager.Item(name: "New \(number)")
      recipe.requiredComponents = [ResourcesManager.Component(), ResourcesManager.Component()]
      context.insert(recipe)
      return 4
    },
    Project(path: "thierryH91200__PegaseUIData/", models: Pegase.models) { context, number in
      let account = Pegase.EntityAccount()
      let mode = Pegase.EntityPaymentMode(account: account, color: Pegase.NSColor(name: "red"))
      mode.name = "Card"
      let rubric = Pegase.EntityRubric(account: account, color: Pegase.NSColor(name: "blue"))
      rubric.categorie = [Pegase.EntityCategory(name: "Food"), Pegase.EntityCategory(name: "Rent")]
      let transaction = Pegase.EntityTransaction(account: account)
      transaction.paymentMode = mode
      transaction.sousOperations = [Pegase.EntitySousOperation()]
      context.insert(rubric)
      context.insert(transaction)
      return 7
    },
  ]
}
