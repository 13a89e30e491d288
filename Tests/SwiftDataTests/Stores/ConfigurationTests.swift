// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Model
private final class User {
  var name: String

  init(name: String) { self.name = name }
}

@Model
private final class LogEntry {
  var text: String

  init(text: String) { self.text = text }
}

@Suite("Containers with several configurations")
struct ConfigurationTests {
  private func check(_ configurations: ModelConfiguration...) throws {
    let schema = Schema([User.self, LogEntry.self])
    let container = try ModelContainer(for: schema, configurations: configurations)
    let context = ModelContext(container)
    context.insert(User(name: "u"))
    context.insert(LogEntry(text: "l"))
    try context.save()
    let found = try ModelContext(container).fetch(FetchDescriptor<User>())
    let other = try ModelContext(container).fetch(FetchDescriptor<LogEntry>())
    #expect(found.map(\.name) == ["u"] && other.map(\.text) == ["l"])
    #expect(found.first?.persistentModelID.storeIdentifier != other.first?.persistentModelID.storeIdentifier)
  }

  /// Calls a block with a directory that does not exist yet.
  private func withDirectory(_ body: (URL) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("configurations-\(UUID())")
    defer {
      // What cannot be removed is in the way of nothing.
      try? FileManager.default.removeItem(at: directory)
    }
    try body(directory)
  }

  @Test("Configurations with one name keep different types in different stores")
  func names() throws {
    try check(
      ModelConfiguration(for: User.self, isStoredInMemoryOnly: true),
      ModelConfiguration(for: LogEntry.self, isStoredInMemoryOnly: true))
    try withDirectory { directory in
      let urls = ["a", "b"].map { directory.appendingPathComponent("\($0)/data.store") }
      for _ in 1...2 {
        let container = try ModelContainer(
          for: Schema([User.self, LogEntry.self]),
          configurations: ModelConfiguration(schema: Schema([User.self]), url: urls[0]),
          ModelConfiguration(schema: Schema([LogEntry.self]), url: urls[1]))
        let context = ModelContext(container)
        context.insert(User(name: "u"))
        try context.save()
      }
      let users = try ModelContainer(for: User.self, configurations: ModelConfiguration(url: urls[0]))
      #expect(try ModelContext(users).fetchCount(FetchDescriptor<User>()) == 2)
    }
  }

  @Test("A container that was erased keeps what is saved afterwards")
  func erasing() throws {
    try withDirectory { directory in
      let url = directory.appendingPathComponent("a.store")
      let file = ModelConfiguration("users", schema: Schema([User.self]), url: url)
      let memory = ModelConfiguration(for: LogEntry.self, isStoredInMemoryOnly: true)
      let schema = Schema([User.self, LogEntry.self])
      let container = try ModelContainer(for: schema, configurations: file, memory)
      let context = ModelContext(container)
      for round in 1...2 {
        context.insert(User(name: "u\(round)"))
        context.insert(LogEntry(text: "l\(round)"))
        try context.save()
        #expect(try context.fetch(FetchDescriptor<User>()).map(\.name) == ["u\(round)"])
        #expect(try ModelContext(container).fetch(FetchDescriptor<LogEntry>()).map(\.text) == ["l\(round)"])
        if round == 1 { container.deleteAllData() }
      }
      let again = try ModelContainer(for: schema, configurations: file, memory)
      #expect(try ModelContext(again).fetch(FetchDescriptor<User>()).map(\.name) == ["u2"])
    }
  }

  @Test("Configurations with one name and common types are refused")
  func duplicates() {
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try check(
        ModelConfiguration(for: User.self, isStoredInMemoryOnly: true), ModelConfiguration(isStoredInMemoryOnly: true))
    }
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try check(ModelConfiguration(isStoredInMemoryOnly: true), ModelConfiguration(isStoredInMemoryOnly: true))
    }
  }
}
