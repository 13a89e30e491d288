// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

/// The schema of the app that wrote the store.
private enum ChallengesV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { VacuumTest.models }
}

/// The name is called title, the identifier is gone, a number of points is new, and so are players.
private enum ChallengesV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Challenge.self, Player.self] }

  @Model final class Challenge {
    @Attribute(originalName: "name") var title: String
    var rating: VacuumTest.Rating?
    var points: Int = 5
    var player: Player?

    init(title: String) { self.title = title }
  }

  @Model final class Player {
    var name: String
    @Relationship(inverse: \Challenge.player) var challenges: [Challenge] = []

    init(name: String) { self.name = name }
  }
}

private enum ChallengesPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [ChallengesV1.self, ChallengesV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: ChallengesV1.self, toVersion: ChallengesV2.self, willMigrate: nil,
        didMigrate: { context in
          let player = ChallengesV2.Player(name: "first")
          context.insert(player)
          for challenge in try context.fetch(FetchDescriptor<ChallengesV2.Challenge>()) { challenge.player = player }
        })
    ]
  }
}

@Suite("Migration of stores that SwiftData made")
struct FixtureMigrationTests {
  @Test(
    "All rows are kept, with a plan and without one",
    arguments: StoreFixture.all.filter { $0.project.path.hasPrefix("keithsharp__VacuumTest") }, [true, false])
  func migrate(_ fixture: StoreFixture, hasPlan: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("Challenges.store")
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: fixture.url.path + suffix) {
      let copy = URL(fileURLWithPath: url.path + suffix)
      try FileManager.default.copyItem(at: URL(fileURLWithPath: fixture.url.path + suffix), to: copy)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy.path)
    }
    let before = try rows(at: url)
    var configuration = ModelConfiguration(url: url)
    configuration.migration.allowedLosses = hasPlan ? .none : ["Challenge.id"]
    do {
      let container = try ModelContainer(
        for: Schema(versionedSchema: ChallengesV2.self), migrationPlan: hasPlan ? ChallengesPlan.self : nil,
        configurations: configuration)
      let challenges = try ModelContext(container).fetch(FetchDescriptor<ChallengesV2.Challenge>())
      #expect(challenges.map { "\($0.title) \($0.rating?.rawValue ?? "none")" }.sorted() == before)
      #expect(challenges.allSatisfy { $0.points == 5 && $0.player?.name == (hasPlan ? "first" : nil) })
    }
    #expect(try Library.isFinished(url, ChallengesV2.self))
  }

  private func rows(at url: URL) throws -> [String] {
    let container = try ModelContainer(
      for: Schema(versionedSchema: ChallengesV1.self), configurations: ModelConfiguration(url: url))
    let challenges = try ModelContext(container).fetch(FetchDescriptor<VacuumTest.Challenge>())
    return challenges.map { "\($0.name) \($0.rating?.rawValue ?? "none")" }.sorted()
  }
}
