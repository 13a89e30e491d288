// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Stores that a symbolic link leads to")
struct LinkedStoreTests {
  @Test("What the log holds belongs to the store, whichever name it is asked for by")
  func log() throws {
    let store = try TemporaryStore()
    try StoreFile.create(at: store.url, document: BenchModels.company)
    let folder = store.folder.appendingPathComponent("elsewhere")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let link = folder.appendingPathComponent("Link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    // The log is not folded in while somebody has the store open.
    let owner = try StoreFile.open(store.url, isReadOnly: false)
    try owner.setMetadata(owner.metadata().merging(["mark": "in the log"]) { $1 })
    for url in [store.url, link] {
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
      #expect(metadata["mark"] as? String == "in the log", "\(url.lastPathComponent)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Link.sqlite"])
    try owner.close()
  }

  @Test("A database is copied as bytes without a lock being lost")
  func copy() async throws {
    let store = try TemporaryStore()
    try StoreFile.create(at: store.url, document: BenchModels.company)
    let owner = try StoreFile.open(store.url, isReadOnly: false)
    try owner.setMetadata(owner.metadata().merging(["mark": "in the log"]) { $1 })
    let copy = store.folder.appendingPathComponent("Copy.sqlite")
    try DatabaseFile(path: store.url.path).copy(to: copy.path)
    #expect(try Data(contentsOf: copy).count == Data(contentsOf: store.url).count)
    let path = store.url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      let other = try SQLiteConnection(path: path, mode: .readWrite)
      _ = try other.pragma("schema_version")
      try other.close()
    }
    #expect(try owner.metadata()["mark"] as? String == "in the log")
    #expect(try owner.connection.integrityCheck() == [])
    try owner.close()
  }
}
