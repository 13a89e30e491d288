// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

/// Processes that are killed while they migrate. `COREDATA_KILLS=1000` kills more.
@Suite("Killed stages", .serialized)
struct StagedMigrationKillTests {
  private static let kills = TortureSize.number("COREDATA_KILLS", 4)
  private static let books = 24

  private let directory: TemporaryDirectory
  private var template: URL { directory.file("Template.store") }

  init() throws {
    directory = try TemporaryDirectory()
    try Library.make(at: template, books: Self.books)
  }

  /// Copies the store of the first version.
  private func copy(_ name: String) throws -> URL {
    try StoreBackup.make(of: template, in: directory.file(name))
  }

  private static func migrate(_ url: URL, isReading: Bool) throws -> ModelContainer {
    isReading
      ? try Library.container(LibraryReadingPlan.self, at: url) : try Library.container(LibraryPlan.self, at: url)
  }

  /// Opens a store whose migration was interrupted, and checks that each stage has run once.
  ///
  /// - Returns: the position of the version that the store had before.
  private func finish(_ url: URL, isReading: Bool, _ moment: String) throws -> Int {
    let metadata = try Library.metadata(url)
    let schemas = try LibraryPlan.schemas.map { try PlannedVersion($0, plan: "") }
    let version = try #require(schemas.firstIndex { $0.wrote(metadata, nil) }, "\(moment)")
    let books = try ModelContext(Self.migrate(url, isReading: isReading)).fetch(FetchDescriptor<LibraryV3.Book>())
    let found = books.map { "\($0.name): \($0.readings), \($0.writer?.name ?? "none"), \($0.shelf?.name ?? "none")" }
    let expected = (0..<Self.books).map { "Book \($0): \(2 + (isReading ? $0 : 0)), Author \($0 % 3)., first" }
    #expect(found.sorted() == expected.sorted(), "\(moment)")
    #expect(try Library.isFinished(url, LibraryV3.self), "\(moment)")
    let files = try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
    #expect(files.filter { $0.contains("-source") || $0.contains("-stages") } == [], "\(moment)")
    return version
  }

  @Test("A store whose stages were killed has run each of them once when it is next opened")
  func killed() async throws {
    let time = try ContinuousClock().measure {
      _ = try Self.migrate(copy("measured"), isReading: true)
    }
    var versions = [0, 0, 0]
    for number in 0..<Self.kills {
      let url = try copy("\(number)")
      let (path, isReading) = (url.path, number % 2 == 0)
      // Spread evenly over the time that the migration takes, whatever the number of kills is.
      let fraction = (Double(number) * 0.618_034).truncatingRemainder(dividingBy: 1)
      let microseconds = Int(200 + fraction * 1.1e6 * (time / .seconds(1)))
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, microseconds = microseconds as Int, isReading = isReading as Bool] in
        Thread.detachNewThread {
          usleep(UInt32(microseconds))
          kill(getpid(), SIGKILL)
        }
        _ = try Self.migrate(URL(fileURLWithPath: path), isReading: isReading)
        kill(getpid(), SIGKILL)
      }
      versions[try finish(url, isReading: isReading, "killed after \(microseconds) µs")] += 1
      try FileManager.default.removeItem(at: url.deletingLastPathComponent())
    }
    print("Killed stages: \(Self.kills) kills; \(versions) stores of the versions 1, 2 and 3; no row lost")
  }

  @Test("A process that is killed in didMigrate leaves the rows of the old version for the next one")
  func killedInCode() async throws {
    let url = try copy("code")
    let path = url.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      Library.observe { if $0 == "didMigrate" { kill(getpid(), SIGKILL) } }
      _ = try Self.migrate(URL(fileURLWithPath: path), isReading: true)
    }
    let source = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent)-source")
    #expect(FileManager.default.fileExists(atPath: source.path))
    #expect(try finish(url, isReading: true, "killed in didMigrate") == 1)
  }

  @Test("Whatever files a migration has written at a moment, the next process finishes it")
  func moments() throws {
    // What is on disk at each report of progress, and when code has saved, is what a kill at that moment leaves.
    let url = try copy("moments")
    let folder = url.deletingLastPathComponent()
    let parent = directory.url
    let states = States()
    let keep: @Sendable (String) -> Void = { name in
      states.add(name) { try FileManager.default.copyItem(at: folder, to: parent.appendingPathComponent($0)) }
    }
    Library.observe(keep)
    defer { Library.observe(nil) }
    var configuration = ModelConfiguration(url: url)
    configuration.migration.progress = { keep("\($0.stageNumber) \($0.phase)") }
    do {
      _ = try ModelContainer(
        for: Schema(versionedSchema: LibraryV3.self), migrationPlan: LibraryReadingPlan.self,
        configurations: configuration)
    }
    keep("finished")
    Library.observe(nil)
    let all = try states.all()
    var versions: Set<Int> = []
    for name in all {
      let state = parent.appendingPathComponent(name).appendingPathComponent(url.lastPathComponent)
      versions.insert(try finish(state, isReading: true, name))
    }
    #expect(versions == [0, 1, 2], "\(all)")
    #expect(all.count >= 6)
  }

  /// Copies of the files of a migration.
  private final class States: @unchecked Sendable {
    // Used on the thread of the migration.
    private var names: [String] = []
    private var failure: (any Error)?

    /// Adds a state, but no more than the first two of those with the same name.
    func add(_ name: String, _ copy: (String) throws -> Void) {
      guard names.filter({ $0.hasSuffix(" \(name)") }).count < 2 else { return }
      let name = "state \(names.count) \(name)"
      do { try copy(name) } catch { failure = failure ?? error }
      names.append(name)
    }

    func all() throws -> [String] {
      if let failure { throw failure }
      return names
    }
  }

  @Test("willMigrate runs again if an older version of the app has written to the store since")
  func writtenSince() throws {
    let url = try copy("since")
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
