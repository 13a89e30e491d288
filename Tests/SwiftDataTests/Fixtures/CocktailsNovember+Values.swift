// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The values of the schema.
extension CocktailsNovember {
  enum Shelf: Int, Codable {
    case first = 1, second, third, fourth, fifth, sixth
  }

  enum Glassware: String, Codable {
    case birdShapedTikiGlass = "Bird Shaped Tiki Glass", blueBlazerMugs = "Blue Blazer Mugs"
    case chilled8OzFizzGlass = "Chilled 8 oz. Fizz Glass"
    case cinnamonSugarRimmedCocktailGlass = "Cinnamon Sugar Rimmed Cocktail Glass", collins = "Collins"
    case copperMuleCup = "Copper Mule Cup", coupe = "Coupe", coupeWithASaltedRim = "Coupe with a salted rim"
    case doubleOldFashioned = "Double Old Fashioned"
    case doubleOldFashionedHalfAsparagusSaltRim = "Double Old Fashioned (half asparagus salt rim)"
    case doubleOldFashionedHalfCelerySaltRim = "Double Old Fashioned (half celery salt rim)"
    case doubleOldFashionedHalfSaltRim = "Double Old Fashioned (half salt rim)"
    case doubleOldFashionedHalfSmokedSaltRim = "Double Old Fashioned (half smoked salt rim)", flute = "Flute"
    case frozenSingleOldFashioned = "Frozen Single Old Fashioned", hurricaneGlass = "Hurricane Glass"
    case irishCoffeeGlass180ml = "Irish Coffee Glass (180ml)", julepCup = "Julep Cup"
    case largeWineGlass = "Large Wine Glass", martini = "Martini", milkshakeGlass = "Milkshake Glass"
    case nickAndNora = "Nick and Nora", ornateTeaCup = "Ornate Tea Cup", snifterFlipGlass = "Snifter (Flip Glass)"
    case stemmed = "Stemmed", stemmedWithAHalfSugarRim = "Stemmed with a half sugar rim", tikiMug = "Tiki Mug"
    case toddyGlass = "Toddy Glass"
  }

  enum Ice: String, Codable {
    case columnIce = "Column ice", crackedKoldDraft = "Cracked Kold Draft", koldDraftIce = "Kold Draft ice"
    case largeCube = "Large cube", pebbleIce = "Pebble ice"
  }

  enum Variation: String, Codable {
    case airMail = "Air Mail", alaskaCocktail = "Alaska Cocktail", alexanderCocktail = "Alexander Cocktail"
    case algonquin = "Algonquin", amarettoSour = "Amaretto Sour", americano = "Americano"
    case appleJackCocktail = "Apple Jack Cocktail", bamboo = "Bamboo", beesKnees = "Bees Knees"
    case betweenTheSheets = "Between the Sheets", bijou = "Bijou", bloodAndSand = "Blood & Sand"
    case bloodyMary = "Bloody Mary", bobbyBurns = "Bobby Burns", boulevardier = "Boulevardier"
    case bramble = "Bramble", brandyCrusta = "Brandy Crusta", brooklyn = "Brooklyn", brownDerby = "Brown Derby"
    case cableCar = "Cable Car", chocolateCocktail = "Chocolate Cocktail", cloverClub = "Clover Club"
    case corpseReviverNo2 = "Corpse Reviver No.2", daiquiri = "Daiquiri", eastSide = "East Side"
    case elDiablo = "El Diablo", elPresidente = "El Presidente", elksOwnCocktail = "Elk's Own Cocktail"
    case espressoMartini = "Espresso Martini", fairAndWarmer = "Fair and Warmer", fancyFree = "Fancy Free"
    case fogCutter = "Fog Cutter", french75 = "French 75", gimlet = "Gimlet", ginFizz = "Gin Fizz"
    case grasshopper = "Grasshopper", greenpoint = "Greenpoint", hankyPanky = "Hanky Panky"
    case harveyWallbanger = "Harvey Wallbanger", hemingwayDaiquiri = "Hemingway Daiquiri"
    case hollandHouse = "Holland House", homeOnTheRange = "Home on the Range"
    case honeymoonCocktail = "Honeymoon Cocktail", hotToddy = "Hot Toddy", hotelNacional = "Hotel Nacional"
    case hurricane = "Hurricane", irishCoffee = "Irish Coffee", japaneseCocktail = "Japanese Cocktail"
    case jungleBird = "Jungle Bird", kentuckyMaid = "Kentucky Maid", kirRoyale = "Kir Royale"
    case laLouisiane = "La Louisiane", lastWord = "Last Word", lemonDrop = "Lemon Drop", maiTai = "Mai Tai"
    case majorBailey = "Major Bailey", manhattan = "Manhattan", margarita = "Margarita", martinez = "Martinez"
    case martini = "Martini", mexicanFiringSquad = "Mexican Firing Squad", mintJulep = "Mint Julep"
    case modernCocktail = "Modern Cocktail", mojito = "Mojito", morningGloryFizz = "Morning Glory Fizz"
    case newYorkSour = "New York Sour", oaxacaOldFashioned = "Oaxaca Old Fashioned", oldCuban = "Old Cuban"
    case oldFashioned = "Old Fashioned", oldPal = "Old Pal", painKiller = "Pain Killer"
    case peguClubCocktail = "Pegu Club Cocktail", penicillin = "Penicillin", pimsCup = "Pims Cup"
    case piscoSour = "Pisco Sour", pinaColada = "Piña Colada", princeEdward = "Prince Edward"
    case queensParkSwizzle = "Queens Park Swizzle", rememberTheMaine = "Remember the Maine"
    case rustyNail = "Rusty Nail", saturn = "Saturn", sazerac = "Sazerac", scofflaw = "Scofflaw"
    case sherryCobbler = "Sherry Cobbler", sidecar = "Sidecar", silverGinFizz = "Silver Gin Fizz"
    case singaporeSling = "Singapore Sling", sloeGinFizz = "Sloe Gin Fizz", southSide = "South Side"
    case tiPunch = "Ti Punch", tipperary = "Tipperary", tomCollins = "Tom Collins"
    case ultimaPalabra = "Ultima Palabra", vesper = "Vesper", whiskeySour = "Whiskey Sour", zombie = "Zombie"
  }

  enum Unit: String, Codable {
    case none = "", barSpoon = "Bar-spoon", gentlyMuddled = "Gently muddled", muddled = "Muddled"
    case nitroMuddled = "Nitro muddled", pinch = "Pinch", sliceOf = "Slice of", splashOf = "Splash of"
    case spray = "Spray", tbsp = "Tbsp", whole = "Whole", barSpoon2 = "bar-spoon", dash, drop
    case gentlyMuddled2 = "gently muddled", muddled2 = "muddled", nitroMuddled2 = "nitro muddled", oz
    case pinch2 = "pinch", sliceOf2 = "slice of", splashOf2 = "splash of", spray2 = "spray", tbsp2 = "tbsp", tsp
    case whole2 = "whole"
  }

  struct Author: Codable {
    var person: String?
    var place: String?
    var year: String?
    var id = UUID()
  }

  struct BuildOrder: Codable {
    var instructions: [Step]
  }

  struct Step: Codable {
    var step: Int
    var method: String
    var id = UUID()
  }

  struct Preparation: Codable {
    var prepIngredientName: String
    var id = UUID()
    var prepRecipe: [Step]
  }

  enum HistoricSpec: Codable {
    case algonquin, alaska, betweenTheSheets, bloodAndSand, bramble, bobbyBurns, chocolateCocktail, elDiablo, fogCutter
    case ginFizz, gimlet, silverFizz, hotToddy, mexicanFiringSquad, modernCocktail
  }

  enum Flavor: String, Codable {
    case agaveNectar = "Agave Nectar", allspice = "Allspice", almond = "Almond", aloe = "Aloe"
    case angelica = "Angelica", anise = "Anise", apple = "Apple", apricot = "Apricot"
    case bakingSpices = "Baking Spices", banana = "Banana", basil = "Basil", bergamot = "Bergamot"
    case blackPepper = "Black Pepper", blackberry = "Blackberry", burdockRoot = "Burdock Root"
    case caraway = "Caraway", carrot = "Carrot", celery = "Celery", cherry = "Cherry", chestnut = "Chestnut"
    case chocolate = "Chocolate", cholula = "Cholula", cilantro = "Cilantro", cinnamon = "Cinnamon"
    case citrusPeel = "Citrus Peel", clementine = "Clementine", clove = "Clove", coconut = "Coconut"
    case coffee = "Coffee", cranberry = "Cranberry", cucumber = "Cucumber", currant = "Currant", egg = "Egg"
    case elderflower = "Elderflower", espresso = "Espresso", gentian = "Gentian", ginger = "Ginger"
    case grapefruit = "Grapefruit", greenChile = "Green Chile", guava = "Guava", hibiscus = "Hibiscus"
    case honey = "Honey", jalapeno = "Jalapeño", juniper = "Juniper", kaffirLimeLeaf = "Kaffir Lime Leaf"
    case lavender = "Lavender", lemon = "Lemon", lime = "Lime", malt = "Malt", maple = "Maple", melon = "Melon"
    case menthol = "Menthol", mint = "Mint", molasses = "Molasses", mole = "Molé", nutmeg = "Nutmeg"
    case orange = "Orange", passionFruit = "Passion Fruit", passionfruit = "Passionfruit", peach = "Peach"
    case peanut = "Peanut", pear = "Pear", peat = "Peat", pimento = "Pimento", pine = "Pine"
    case pineapple = "Pineapple", poblanoChile = "Poblano Chile", pomegranate = "Pomegranate"
    case rampsSpringOnion = "Ramps (Spring Onion)", raspberry = "Raspberry", rhubarb = "Rhubarb", rose = "Rose"
    case sage = "Sage", serrano = "Serrano", sesame = "Sesame"
    case sloeBerriesBlackthorn = "Sloe Berries (Blackthorn)", strawberry = "Strawberry", tarragon = "Tarragon"
    case tea = "Tea", tomato = "Tomato", umami = "Umami", vanilla = "Vanilla", vinegar = "Vinegar"
    case walnut = "Walnut", whiteFlower = "White Flower"
  }

  enum Profile: String, Codable {
    case aromatic = "Aromatic", bitter = "Bitter", bittersweet = "Bittersweet", botanical = "Botanical"
    case citrusy = "Citrusy", complex = "Complex", creamy = "Creamy", dairy = "Dairy", dry = "Dry"
    case effervescent = "Effervescent", floral = "Floral", fruity = "Fruity", funky = "Funky", herbal = "Herbal"
    case hot = "Hot", light = "Light", nuts = "Nuts", nutty = "Nutty", punchy = "Punchy"
    case refreshing = "Refreshing", restorative = "Restorative", rich = "Rich", savory = "Savory", silky = "Silky"
    case smoky = "Smoky", spicy = "Spicy", spiritForward = "Spirit Forward", sweet = "Sweet", tart = "Tart"
    case tropical = "Tropical", vegetal = "Vegetal"
  }

  enum Style: String, Codable {
    case blended = "Blended", builtInGlass = "Built in Glass", collinsVariation = "Collins Variation"
    case daisyVariation = "Daisy Variation", fizzVariation = "Fizz Variation", flipVariation = "Flip Variation"
    case manhattanVariation = "Manhattan Variation", martiniVariation = "Martini Variation"
    case negroniVariation = "Negroni Variation", nonAlcoholic = "Non-Alcoholic"
    case oldFashionedVariation = "Old Fashioned Variation", shaken = "Shaken", sourVariation = "Sour Variation"
    case spritzVariation = "Spritz Variation", stirred = "Stirred", swizzleVariation = "Swizzle Variation"
    case tikiVariation = "Tiki Variation", toddyVariation = "Toddy Variation"
  }

  struct Tags: Codable {
    var flavors: [Flavor]?
    var profiles: [Profile]?
    var styles: [Style]?
    var booze: [Component]?
    var nA: [Component]?
  }

  struct Component: Codable {
    var name: String
    var ingredientType: Kind
  }

  enum Kind: Codable {
    case agaves(String)
    case amari(String)
    case bitters(String)
    case brandies(String)
    case fortifiedWines(String)
    case fruit(String)
    case gins(String)
    case herbs(String)
    case juices(String)
    case liqueurs(String)
    case otherAlcohol(String)
    case otherNonAlc(String)
    case rums(String)
    case seasoning(String)
    case soda(String)
    case syrups(String)
    case vodkas(String)
    case whiskies(String)
    case wines(String)
  }
}
