// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@testable import SwiftData

@Model private class Animal {
  var name: String
  var owner: Animal?
  @Relationship(inverse: \Animal.owner) var pets: [Animal] = []

  init(_ name: String) { self.name = name }
}

@Model private class Dog: Animal {
  var breed = "terrier"

  override init(_ name: String) { super.init(name) }
}

@Model private final class Puppy: Dog {
  var weeks = 3

  override init(_ name: String) { super.init(name) }
}

@Suite("Predicates over a hierarchy of classes")
struct SubclassPredicateTests {
  private let context: ModelContext
  private let animals: [Animal]

  init() throws {
    context = ModelContext(
      try ModelContainer(
        for: Animal.self, Dog.self, Puppy.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    animals = [Animal("a"), Dog("b"), Puppy("c"), Animal("d"), Dog("e")]
    for animal in animals { context.insert(animal) }
    animals[0].owner = animals[1]
    animals[3].owner = animals[2]
    try context.save()
  }

  private func check<T: Animal>(
    _ predicate: Predicate<T>, _ names: String, isExact: Bool = true, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try context.fetch(FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\T.name)]))
    #expect(found.map(\.name).joined() == names, sourceLocation: location)
    let inMemory = try animals.compactMap { $0 as? T }.filter { try predicate.evaluate($0) }
    #expect(inMemory.map(\.name).joined() == names, sourceLocation: location)
    let translated = try PredicateTranslator(context.core).translate(predicate)
    #expect(translated.isExact == isExact, "\(translated.reasons)", sourceLocation: location)
  }

  @Test("'is' selects a class and its subclasses")
  func checks() throws {
    try check(#Predicate<Animal> { $0 is Dog }, "bce")
    try check(#Predicate<Animal> { !($0 is Puppy) }, "abde")
    try check(#Predicate<Animal> { $0.owner is Dog }, "ad")
    try check(#Predicate<Animal> { $0.pets.contains { $0.name == "d" } && $0 is Puppy }, "c")
  }

  @Test("'as?' is evaluated in memory, with the store's other conditions")
  func casts() throws {
    try check(#Predicate<Animal> { ($0 as? Dog)?.breed == "terrier" && $0.name > "b" }, "ce", isExact: false)
    try check(#Predicate<Animal> { if let dog = $0 as? Puppy { dog.weeks == 3 } else { false } }, "c", isExact: false)
  }

  @Test("Inherited properties are found")
  func inheritance() throws {
    try check(#Predicate<Dog> { $0.name > "b" && $0.breed == "terrier" }, "ce")
    try check(#Predicate<Puppy> { $0.name == "c" && $0.breed == "terrier" && $0.weeks == 3 }, "c")
    try check(#Predicate<Dog> { $0.pets.contains { $0.name == "a" } }, "b")
    try check(#Predicate<Dog> { $0.owner == nil }, "bce")
  }
}
