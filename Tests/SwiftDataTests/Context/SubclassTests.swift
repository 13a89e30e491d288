// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Model class Lesson {
  var name = "unnamed"
  init(name: String) { self.name = name }
}

@Model final class OnlineLesson: Lesson {
  var seats = 0
  // Made anew for each model that is fetched, before the model has its values.
  @Transient var template = Lesson(name: "template")
  @Transient var other: OnlineLesson?

  init(name: String, seats: Int) {
    self.seats = seats
    super.init(name: name)
  }
}

@Suite("Subclasses of models")
struct SubclassTests {
  @Test("A declaration of a subclass may create models of the superclass, also for a model that is fetched")
  func template() throws {
    let container = try ModelContainer(
      for: Lesson.self, OnlineLesson.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.insert(OnlineLesson(name: "Algebra", seats: 3))
    context.insert(Lesson(name: "Logic"))
    try context.save()
    let fresh = ModelContext(container)
    let lessons = try fresh.fetch(FetchDescriptor<Lesson>(sortBy: [SortDescriptor(\.name)]))
    #expect(lessons.map(\.name) == ["Algebra", "Logic"])
    let online = try #require(lessons.first as? OnlineLesson)
    #expect(online.seats == 3 && online.template.name == "template")
    online.template.name = "changed"
    #expect(online.template.name == "changed" && online.name == "Algebra")
    fresh.insert(online.template)
    try fresh.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Lesson>()) == 3)
  }
}
