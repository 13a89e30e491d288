// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

/// Processes that are killed while they migrate. `COREDATA_KILLS=1000` kills more.
@Suite("Killed stages", .serialized)
struct StageKillTests {
  private static let kills = ProcessInfo.processInfo.environment["COREDATA_KILLS"].flatMap(Int.init) ?? 12

  @Test("A store whose stages were killed has run each of them once when it is next opened")
  func killed() async throws {
    let directory = try TemporaryDirectory()
    var versions: Set<Int> = []
    for number in 0..<Self.kills {
      let url = directory.file("\(number).store")
      try Library.make(at: url, books: 120)
      let path = url.path
      // Spread over the time that the migration takes.
      let microseconds = 200 + (number * 9_973) % 150_000
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, microseconds = microseconds as Int] in
        Thread.detachNewThread {
          usleep(UInt32(microseconds))
          kill(getpid(), SIGKILL)
        }
        _ = try Library.container(LibraryPlan.self, at: URL(fileURLWithPath: path))
        kill(getpid(), SIGKILL)
      }
      let metadata = try Library.metadata(url)
      let schemas = try LibraryPlan.schemas.map { try PlannedVersion($0, plan: "") }
      versions.insert(try #require(schemas.firstIndex { $0.wrote(metadata, nil) }))
      let container = try Library.container(LibraryPlan.self, at: url)
      let books = try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Book>())
      #expect(books.count == 120)
      #expect(books.allSatisfy { $0.readings == 2 }, "didMigrate, killed after \(microseconds) µs")
      #expect(
        Set(books.compactMap { $0.writer?.name }) == ["Author 0.", "Author 1.", "Author 2."],
        "willMigrate, killed after \(microseconds) µs")
      #expect(try Library.isFinished(url, LibraryV3.self))
    }
    #expect(!versions.isEmpty)
  }

  @Test("willMigrate runs again if an older version of the app has written to the store since")
  func writtenSince() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("Library.store")
    try Library.make(at: url)
    // What a process leaves that is killed between willMigrate and the step.
    let plan = try PlannedStages(LibraryPlan.self)
    let stage = plan.stages[0]
    let context = try StageContext(stage.source, at: url, configuration: nil, label: stage.label)
    try context.run(stage.willMigrate) { $0.mark(stage, $1) }
    try context.close()
    let old = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: LibraryV1.self), migrationPlan: OnlyV1.self,
        configurations: ModelConfiguration(url: url)))
    old.insert(LibraryV1.Book(title: "Since", author: "Author 9"))
    try old.save()
    let container = try Library.container(LibraryPlan.self, at: url)
    let writers = try ModelContext(container).fetch(FetchDescriptor<LibraryV3.Writer>()).map(\.name)
    #expect(Set(writers) == ["Author 0..", "Author 1..", "Author 2..", "Author 9."])
  }

  /// The plan of an app before the second version.
  private enum OnlyV1: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self] }
    static var stages: [MigrationStage] { [] }
  }
}
