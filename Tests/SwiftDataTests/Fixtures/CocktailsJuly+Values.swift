// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The values of the schema.
extension CocktailsJuly {
  enum Shelf: Int, Codable {
    case first = 1, second, third, fourth, fifth, sixth
  }

  enum Glassware: String, Codable {
    case birdShapedTikiGlass = "Bird Shaped Tiki Glass", chilled8OzFizzGlass = "Chilled 8 oz. Fizz Glass"
    case cinnamonSugarRimmedCocktailGlass = "Cinnamon Sugar Rimmed Cocktail Glass", collins = "Collins"
    case copperMuleCup = "Copper Mule Cup", coupe = "Coupe", coupeWithASaltedRim = "Coupe with a salted rim"
    case crustaGlassSeeBuildOrder = "Crusta Glass (See build order)", doubleOldFashioned = "Double Old Fashioned"
    case doubleOldFashionedHalfAsparagusSaltRim = "Double Old Fashioned (half asparagus salt rim)"
    case doubleOldFashionedHalfCelerySaltRim = "Double Old Fashioned (half celery salt rim)"
    case doubleOldFashionedHalfSaltRim = "Double Old Fashioned (half salt rim)"
    case doubleOldFashionedHalfSmokedSaltRim = "Double Old Fashioned (half smoked salt rim)", flute = "Flute"
    case frozenSingleOldFashioned = "Frozen Single Old Fashioned", hurricaneGlass = "Hurricane Glass"
    case irishCoffeeGlass180ml = "Irish Coffee Glass (180ml)", julepCup = "Julep Cup"
    case largePunchBowl = "Large Punch Bowl", largeWineGlass = "Large Wine Glass", martini = "Martini"
    case milkshakeGlass = "Milkshake Glass", nickAndNora = "Nick and Nora", ornateTeaCup = "Ornate Tea Cup"
    case snifterFlipGlass = "Snifter (Flip Glass)", stemmed = "Stemmed"
    case stemmedWithAHalfSugarRim = "Stemmed with a half sugar rim", tikiMug = "Tiki Mug"
    case toddyGlass = "Toddy Glass"
  }

  enum Ice: String, Codable {
    case columnIce = "Column Ice", crackedKoldDraft = "Cracked Kold Draft", koldDraftIce = "Kold Draft Ice"
    case largeCube = "Large Cube", oneLargeBlockOfIce = "One large block of ice", pebbleIce = "Pebble Ice"
  }

  enum Variation: String, Codable {
    case airMail = "Air Mail", alaska = "Alaska", algonquin = "Algonquin", amarettoSour = "Amaretto Sour"
    case americano = "Americano", appleJackCocktail = "Apple Jack Cocktail", bamboo = "Bamboo"
    case beesKnees = "Bees Knees", betweenTheSheets = "Between the Sheets", bijou = "Bijou"
    case bloodAndSand = "Blood & Sand", bloodyMarry = "Bloody Marry", boulevardier = "Boulevardier"
    case bramble = "Bramble", brandyCrusta = "Brandy Crusta", brooklyn = "Brooklyn", brownDerby = "Brown Derby"
    case cloverClub = "Clover Club", corpseReviver = "Corpse Reviver", daiquiri = "Daiquiri"
    case eastSide = "East Side", elPresidente = "El Presidente", fairAndWarmer = "Fair and Warmer"
    case fancyFree = "Fancy Free", featheredHatFlip = "Feathered Hat Flip", fogCutter = "Fog Cutter"
    case french75 = "French 75", ginFizz = "Gin Fizz", grasshopper = "Grasshopper", greenpoint = "Greenpoint"
    case hankyPanky = "Hanky Panky", harveyWallbanger = "Harvey Wallbanger"
    case hemingwayDaiquiri = "Hemingway Daiquiri", hollandHouse = "Holland House"
    case homeOnTheRange = "Home on the Range", honeymoonCocktail = "Honeymoon Cocktail", hotToddy = "Hot Toddy"
    case hotelNacional = "Hotel Nacional", hurricane = "Hurricane", irishCoffee = "Irish Coffee"
    case japaneseCocktail = "Japanese Cocktail", jungleBird = "Jungle Bird", kentuckyMaid = "Kentucky Maid"
    case kirRoyale = "Kir Royale", laLouisiane = "La Louisiane", lastWord = "Last Word", lemonDrop = "Lemon Drop"
    case maiTai = "Mai Tai", majorBailey = "Major Bailey", margarita = "Margarita", martinez = "Martinez"
    case martini = "Martini", mexicanFiringSquad = "Mexican Firing Squad", mintJulep = "Mint Julep"
    case modernCocktail = "Modern Cocktail", mojito = "Mojito", morningGloryFizz = "Morning Glory Fizz"
    case newYorkSour = "New York Sour", oaxacaOldFashioned = "Oaxaca Old Fashioned", oldCuban = "Old Cuban"
    case oldFashioned = "Old Fashioned", oldPal = "Old Pal", painKiller = "Pain Killer", penicillin = "Penicillin"
    case piscoSour = "Pisco Sour", queensParkSwizzle = "Queens Park Swizzle"
    case rememberTheMaine = "Remember The Maine", robRoy = "Rob Roy", saturn = "Saturn", sazerac = "Sazerac"
    case scofflaw = "Scofflaw", sherryCobbler = "Sherry Cobbler", sidecar = "Sidecar"
    case singaporeSling = "Singapore Sling", sloeGinFizz = "Sloe Gin Fizz", southSide = "South Side"
    case tiPunch = "Ti Punch", tipperary = "Tipperary", tomCollins = "Tom Collins"
    case ultimaPalabra = "Ultima Palabra", vesper = "Vesper", zombie = "Zombie"
  }

  enum Unit: String, Codable {
    case none = "", barSpoonS = "Bar-spoon(s)", bottleS = "Bottle(s)", gentlyMuddled = "Gently muddled"
    case muddled = "Muddled", nitroMuddled = "Nitro muddled", pinch = "Pinch", sliceSOf = "Slice(s) of"
    case splashOf = "Splash of", sprayS = "Spray(s)", tbsp = "Tbsp", tsp = "Tsp", whole = "Whole"
    case dashEs = "dash(es)", drops, grams, ml, oz = "oz."
  }

  enum Category: String, Codable {
    case agave = "Agave", amari = "Amari", bitters = "Bitters", brandy = "Brandy"
    case fortifiedWine = "Fortified Wine", fruit = "Fruit", gin = "Gin", herbs = "Herbs", juice = "Juice"
    case liqueurs = "Liqueurs", otherAlcohol = "Other Alcohol", otherNA = "Other N/A", rum = "Rum"
    case seasoning = "Seasoning", sodas = "Sodas", syrups = "Syrups", vodka = "Vodka", whiskies = "Whiskies"
    case wine = "Wine"
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

  /// SwiftUI's `Color.Resolved`, by its coding keys.
  struct Color: Codable {
    var linearRed: Float
    var linearGreen: Float
    var linearBlue: Float
    var opacity: Float
  }

  enum Flavor: String, Codable {
    case agaveNectar = "Agave Nectar", allspice = "Allspice", almond = "Almond", aloe = "Aloe"
    case angelica = "Angelica", anise = "Anise", apple = "Apple", apricot = "Apricot"
    case bakingSpices = "Baking Spices", banana = "Banana", basil = "Basil", bergamot = "Bergamot"
    case blackPepper = "Black Pepper", blackberry = "Blackberry", burdockRoot = "Burdock Root"
    case caraway = "Caraway", carrot = "Carrot", celery = "Celery", cherry = "Cherry", chestnut = "Chestnut"
    case chocolate = "Chocolate", cholula = "Cholula", cilantro = "Cilantro", cinnamon = "Cinnamon"
    case clementine = "Clementine", clove = "Clove", coconut = "Coconut", coffee = "Coffee"
    case cranberry = "Cranberry", cucumber = "Cucumber", currant = "Currant", egg = "Egg"
    case elderflower = "Elderflower", espresso = "Espresso", gentian = "Gentian", ginger = "Ginger"
    case grapefruit = "Grapefruit", greenChile = "Green Chile", guava = "Guava", honey = "Honey"
    case jalapeno = "Jalapeño", juniper = "Juniper", kaffirLimeLeaf = "Kaffir Lime Leaf", lavender = "Lavender"
    case lemon = "Lemon", lime = "Lime", malt = "Malt", maple = "Maple", melon = "Melon", menthol = "Menthol"
    case mint = "Mint", molasses = "Molasses", mole = "Molé", nutmegFlavor = "Nutmeg (Flavor)", orange = "Orange"
    case passionfruit = "Passionfruit", peach = "Peach", peanut = "Peanut", pear = "Pear", peat = "Peat"
    case pimento = "Pimento", pine = "Pine", pineapple = "Pineapple", poblanoChile = "Poblano Chile"
    case pomegranate = "Pomegranate", rampsSpringOnion = "Ramps(Spring onion)", raspberry = "Raspberry"
    case rhubarb = "Rhubarb", rose = "Rose", sageFlavor = "Sage (Flavor)", serrano = "Serrano", sesame = "Sesame"
    case sloeBerriesAKABlackthorn = "Sloe Berries (AKA Blackthorn)", strawberry = "Strawberry"
    case tarragon = "Tarragon", tea = "Tea", tomato = "Tomato", umami = "Umami", vanilla = "Vanilla"
    case vinegar = "Vinegar", walnut = "Walnut", whiteFlower = "White Flower"
  }

  enum Profile: String, Codable {
    case aromatic = "Aromatic", bitter = "Bitter", bittersweet = "Bittersweet", botanical = "Botanical"
    case bright = "Bright", citrusy = "Citrusy", comforting = "Comforting", complex = "Complex", creamy = "Creamy"
    case dry = "Dry", effervescent = "Effervescent", floral = "Floral", fruity = "Fruity", funky = "Funky"
    case gross = "Gross", herbal = "Herbal", hot = "Hot", light = "Light", nutty = "Nutty", punchy = "Punchy"
    case refreshing = "Refreshing", restorative = "Restorative", rich = "Rich", savory = "Savory", sharp = "Sharp"
    case silky = "Silky", smokey = "Smokey", spicy = "Spicy", spiritForward = "Spirit Forward", sweet = "Sweet"
    case tart = "Tart", thin = "Thin", tropical = "Tropical", unrefined = "Unrefined", vegetal = "Vegetal"
  }

  enum Style: String, Codable {
    case blended = "Blended", built = "Built", collins = "Collins", daisy = "Daisy", fizz = "Fizz", flip = "Flip"
    case julep = "Julep", manhattan = "Manhattan", martini = "Martini", negroni = "Negroni"
    case nonAlcoholic = "Non-Alcoholic", oldFashioned = "Old Fashioned", punch = "Punch", shaken = "Shaken"
    case sour = "Sour", spritz = "Spritz", stirred = "Stirred", swizzle = "Swizzle", tiki = "Tiki"
    case toddy = "Toddy"
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
