// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// A folder with the files of a case, copied for each run, and the two states that a run may end in.
final class TortureBench: @unchecked Sendable {
  /// What a store and the files beside it look like.
  struct State: Equatable {
    let rows: [String]
    let version: Int?
    let files: [String]
  }

  let torture: TortureCase
  private let store: TemporaryStore
  private let template: URL
  let old: State
  let new: State
  /// How many calls of the file system a run makes.
  let callCount: Int
  /// How long a run takes, in microseconds.
  let duration: Int

  init(_ torture: TortureCase) throws {
    self.torture = torture
    store = try TemporaryStore()
    template = store.folder.appendingPathComponent("template")
    try FileManager.default.createDirectory(at: template, withIntermediateDirectories: true)
    try torture.prepare(in: template)
    let untouched = try Self.copy(template, to: store.folder.appendingPathComponent("untouched"))
    old = try Self.state(untouched)
    let done = try Self.copy(template, to: store.folder.appendingPathComponent("done"))
    var microseconds = 0
    let outcome = Faults.run(below: done) {
      let start = DispatchTime.now().uptimeNanoseconds
      try torture.run(in: done)
      microseconds = Int((DispatchTime.now().uptimeNanoseconds - start) / 1000)
    }
    if let failure = outcome.failure { throw failure }
    (duration, callCount) = (microseconds, outcome.calls)
    new = try Self.state(done)
  }

  /// A folder for one run.
  func folder(_ name: String) throws -> URL {
    try Self.copy(template, to: store.folder.appendingPathComponent(name))
  }

  private static func copy(_ source: URL, to destination: URL) throws -> URL {
    try FileManager.default.copyItem(at: source, to: destination)
    return destination
  }

  /// Checks what a run has left behind: with SQLite alone first, then with the framework, which clears up.
  ///
  /// - Returns: whether the store is the new one.
  func check(_ folder: URL, _ place: Comment) throws -> Bool {
    let url = folder.appendingPathComponent("Data.sqlite")
    try Self.checkPlainly(url, place)
    // Opening the store is what recovers.
    let state = try Self.state(folder)
    // Nothing is left beside the store, or below it, that only a killed run needed.
    #expect(state.files.allSatisfy { !$0.contains("-migration") && !$0.hasSuffix(".part") }, "\(place): \(state.files)")
    #expect(
      state == old || state == new,
      "\(place): files \(state.files), version \(state.version ?? 0), \(state.rows.count) rows")
    try FileManager.default.removeItem(at: folder)
    return state == new && old != new
  }

  /// Whoever opens the store without knowing of us finds it sound, and every file of a value in its place.
  private static func checkPlainly(_ url: URL, _ place: Comment) throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    #expect(try connection.integrityCheck() == [], place)
    for name in try ExternalReferences.names(in: connection) {
      #expect(FileCalls.exists(StoreLocation.externalData(of: url).appendingPathComponent(name)), place)
    }
    try connection.close()
  }

  /// The store of a folder, opened with the framework; and what is in the folder afterwards.
  private static func state(_ folder: URL) throws -> State {
    let url = folder.appendingPathComponent("Data.sqlite")
    // The coordinator recovers; the model is the one that the store carries, and a store without content gets version 4.
    let isEmpty = !SQLiteStore.hasContents(at: url)
    let model = isEmpty ? RecoverySample.model(4) : try #require(try SQLiteStore.carriedModel(at: url))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url))
    return State(
      rows: try RecoverySample.content(url), version: try RecoverySample.version(url),
      files: try RecoverySample.files(folder).map(withoutDate).sorted())
  }

  /// Names of folders that bear a date, without it.
  private static func withoutDate(_ name: String) -> String {
    name.split(separator: "/").map { part in
      part.contains(where: \.isNumber) && !part.contains(".") && part.contains("-") ? "date" : String(part)
    }.joined(separator: "/")
  }
}
