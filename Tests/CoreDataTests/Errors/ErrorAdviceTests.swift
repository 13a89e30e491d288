// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("What errors of migrations carry, and what they advise")
struct ErrorAdviceTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  private func checkModels(_ error: NSError, _ source: String, _ destination: String) throws {
    #expect(error.code == NSMigrationMissingMappingModelError)
    for (key, version) in [("sourceModel", source), ("destinationModel", destination)] {
      let model = try #require(error.userInfo[key] as? NSManagedObjectModel, "\(key)")
      #expect(try model.entityVersionHashesByName == notes.model(version).entityVersionHashesByName, "\(key)")
    }
  }

  @Test("134140 has the models of both ends, whatever it is that is missing")
  func models() throws {
    let off = try #require(throws: NSError.self) {
      try notes.open("v2", [NSInferMappingModelAutomaticallyOption: false])
    }
    try checkModels(off, "v1", "v2")
    let direct = try #require(throws: NSError.self) { try notes.open("v3", [MigrationOption.isProgressive: false]) }
    try checkModels(direct, "v1", "v3")
    let edited = NoteVersions.model([.make("name", .stringAttributeType), .make("z", .stringAttributeType)])
    try notes.writeMapping("Stale.cdm", notes.model("v1"), edited)
    let stale = try #require(throws: NSError.self) {
      try notes.open("v3", [MigrationOption.isProgressive: false])
    }
    try checkModels(stale, "v1", "v3")
  }

  @Test("Version hashes are told in hexadecimal digits")
  func hashes() throws {
    let other = try NoteVersions(Array(NoteVersions.plain.dropFirst()))
    try FileManager.default.removeItem(at: notes.store.url)
    try notes.fill("v1", withoutModel: true)
    let missing = try #require(throws: NSError.self) {
      _ = try notes.store.context(
        other.model("v3"),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
        ])
    }
    #expect(missing.code == NSMigrationMissingSourceModelError)
    let refused = try #require(throws: NSError.self) {
      _ = try notes.store.context(other.model("v3"), options: [NSMigratePersistentStoresAutomaticallyOption: false])
    }
    #expect(refused.code == NSPersistentStoreIncompatibleVersionHashError)
    let hex = ErrorDetail.hex(try #require(notes.model("v1").entityVersionHashesByName["Note"]))
    #expect(hex.count == 64 && hex.allSatisfy(\.isHexDigit))
    for error in [missing, refused] {
      #expect((error.userInfo["storeVersionHashes"] as? [String: String])?["Note"] == hex)
      let words = [error.localizedDescription, error.localizedFailureReason, error.localizedRecoverySuggestion]
      #expect(!words.contains { $0?.contains(" bytes") == true }, "\(words)")
    }
    let mismatch = MappingMismatch(
      mapping: "NoteToNote", side: .source, entity: "Note", wanted: Data(repeating: 7, count: 32), found: Data([0xAB]))
    #expect(mismatch.sentence.contains(String(repeating: "07", count: 32)) && mismatch.sentence.contains("is ab."))
  }

  @Test("Disk space is advised only where the disk is full")
  func space() throws {
    func speaksOfSpace(_ error: NSError) -> Bool {
      let text = error.localizedRecoverySuggestion ?? ""
      return ["space", "room", "disk"].contains { text.lowercased().contains($0) }
    }
    for number in [ENOSPC, EDQUOT] {
      let error = FileErrors.error(FileFailure(operation: "write", path: "/x", number: number), store: notes.store.url)
      #expect(error.code == CocoaError.Code.fileWriteOutOfSpace.rawValue && speaksOfSpace(error))
    }
    for number in [EACCES, EPERM, ENOENT, EIO, EISDIR, ENOTDIR] {
      let error = FileErrors.error(FileFailure(operation: "write", path: "/x", number: number), store: notes.store.url)
      #expect(!speaksOfSpace(error), "\(number): \(error.localizedRecoverySuggestion ?? "")")
    }
    // Destinations that no free byte would help.
    let manager = NSMigrationManager(sourceModel: try notes.model("v1"), destinationModel: try notes.model("v2"))
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
    let text = notes.store.folder.appendingPathComponent("Text.sqlite")
    try Data(
      "This is no store, and long enough to be one that begins with a header of 100 bytes or more. It is not.".utf8
    )
    .write(to: text)
    let folder = notes.store.folder.appendingPathComponent("Folder.sqlite", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let other = notes.store.folder.appendingPathComponent("Other.sqlite")
    let context = try notes.store.context(
      NoteVersions.model([.make("title", .stringAttributeType)], name: "Recipe"), at: other)
    try context.save()
    for destination in [
      text, folder, other, notes.store.url, notes.store.folder.appendingPathComponent("none/New.sqlite"),
      text.appendingPathComponent("New.sqlite"),
    ] {
      for usesSQL in [true, false] {
        manager.usesStoreSpecificMigrationManager = usesSQL
        let error = try #require(throws: NSError.self, "\(destination.lastPathComponent)") {
          try manager.migrateStore(
            from: notes.store.url, type: .sqlite, mapping: mapping, to: destination, type: .sqlite)
        }
        #expect(error.localizedRecoverySuggestion?.isEmpty == false)
        #expect(!speaksOfSpace(error), "\(destination.lastPathComponent): \(error.localizedRecoverySuggestion ?? "")")
      }
    }
  }

  @Test("A store in a directory that may only be read: no advice about an option that nobody has set")
  func readOnlyDirectory() async throws {
    let folder = notes.store.folder
    let (path, models) = (notes.store.url.path, notes.url.path)
    for url in [notes.store.url, folder] {
      try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: url.path)
    }
    defer {
      // The directory could not be removed otherwise.
      try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
    }
    await #expect(processExitsWith: .success) { [path = path as String, models = models as String] in
      // Whoever may write everything gives that up.
      if geteuid() == 0 { try #require(setuid(65534) == 0) }
      let (url, modelURL) = (URL(fileURLWithPath: path), URL(fileURLWithPath: models))
      let model = try NSManagedObjectModel.load(contentsOf: modelURL, version: "v2")
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let opening = try #require(throws: NSError.self) {
        try coordinator.addPersistentStore(
          ofType: NSSQLiteStoreType, configurationName: nil, at: url,
          options: [
            NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
            MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
          ])
      }
      let running = try #require(throws: NSError.self) {
        try StoreMigration(storeAt: url, modelsAt: modelURL, version: "v2").run()
      }
      for error in [opening, running] {
        let advice = try #require(error.localizedRecoverySuggestion)
        let words = "\(error.code) \(error.localizedFailureReason ?? "") \(advice)"
        try #require(!words.contains("NSReadOnlyPersistentStoreOption"), "\(words)")
        try #require(advice.contains("permissions"), "\(words)")
      }
    }
  }
}
