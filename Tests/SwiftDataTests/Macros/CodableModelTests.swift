// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

// Models that apps import from JSON: a class that is both a model and Codable is a destination, never a value.
private enum Schemas {
  @Model final class Recipe: Codable {
    enum CodingKeys: CodingKey { case title, steps }
    var title: String
    @Relationship(deleteRule: .cascade, inverse: \Step.recipe) var steps: [Step]
    var more: [Step]? = []
    var first: Step?

    init(title: String, steps: [Step] = []) {
      self.title = title
      self.steps = steps
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      title = try container.decode(String.self, forKey: .title)
      steps = try container.decode([Step].self, forKey: .steps)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(title, forKey: .title)
      try container.encode(steps, forKey: .steps)
    }
  }

  @Model class Step: Codable {
    enum CodingKeys: CodingKey { case text }
    var text: String
    var recipe: Recipe?

    init(text: String) { self.text = text }
    required init(from decoder: any Decoder) throws {
      text = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(text, forKey: .text)
    }
  }

  @Model final class Pause: Step {
    var after: Step
    var before: Step?

    init(after: Step) {
      self.after = after
      super.init(text: "pause")
    }
    required init(from decoder: any Decoder) throws {
      after = Step(text: "none")
      try super.init(from: decoder)
    }
  }
}

@Suite("Models that are Codable")
struct CodableModelTests {
  private let json = Data(#"{"title":"Soup","steps":[{"text":"cut"},{"text":"boil"}]}"#.utf8)

  @Test("A decoded model and those in it are inserted together, with both sides of their relationships")
  func decoding() throws {
    let context = ModelContext(
      try ModelContainer(
        for: Schemas.Recipe.self, Schemas.Pause.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let recipe = try JSONDecoder().decode(Schemas.Recipe.self, from: json)
    context.insert(recipe)
    try context.save()
    #expect(Set(recipe.steps.map(\.text)) == ["cut", "boil"])
    #expect(recipe.steps.allSatisfy { $0.recipe === recipe })
    #expect(try context.fetchCount(FetchDescriptor<Schemas.Step>()) == 2)

    recipe.first = recipe.steps.first
    recipe.more?.append(Schemas.Pause(after: recipe.steps[1]))
    try context.save()
    #expect(recipe.first === recipe.steps[0])
    #expect((recipe.more?.first as? Schemas.Pause)?.after === recipe.steps[1])
    let copy = try JSONDecoder().decode(Schemas.Recipe.self, from: JSONEncoder().encode(recipe))
    #expect(Set(copy.steps.map(\.text)) == ["cut", "boil"])
  }

  @Test("The schema has a relationship for each property whose type is such a model")
  func schema() throws {
    let schema = Schema([Schemas.Recipe.self, Schemas.Pause.self])
    let recipe = try #require(schema.entity(for: Schemas.Recipe.self))
    #expect(Set(recipe.relationshipsByName.keys) == ["steps", "more", "first"])
    #expect(Set(recipe.attributesByName.keys) == ["title"])
  }
}
