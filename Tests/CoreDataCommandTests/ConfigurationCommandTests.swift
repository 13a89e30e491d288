// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("The command over a store of one configuration")
struct ConfigurationCommandTests {
  private let directory: TemporaryDirectory
  private let store: String
  private let model: String

  /// A bundle whose configuration `Local` holds Draft and whose configuration `Cloud` holds Note; the second version gives
  /// Draft one attribute more.
  init() throws {
    directory = try TemporaryDirectory()
    store = directory.path("Local.sqlite")
    model = directory.path("Writing.xcdatamodeld")
    for (name, more) in [
      ("Writing", ""), ("Writing 2", "<attribute name=\"mood\" optional=\"YES\" attributeType=\"String\"/>"),
    ] {
      let text = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
        <entity name="Draft"><attribute name="text" optional="YES" attributeType="String"/>\(more)</entity>
        <entity name="Note"><attribute name="title" optional="YES" attributeType="String"/></entity>
        <configuration name="Cloud"><memberEntity name="Note"/></configuration>
        <configuration name="Local"><memberEntity name="Draft"/></configuration>
        </model>
        """
      try directory.write(text, to: "Writing.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Writing 2.xcdatamodel"], format: .xml, options: 0)
    try directory.write(marker, to: "Writing.xcdatamodeld/.xccurrentversion")
    let first = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: "Writing")
    try withContext(first, at: URL(fileURLWithPath: store), configuration: "Local") { context in
      for number in 1...3 {
        let draft = NSEntityDescription.insertNewObject(forEntityName: "Draft", into: context)
        draft.setValue("Draft \(number)", forKey: "text")
      }
      try context.save()
    }
  }

  /// The texts of the drafts that the store exports.
  private func texts() throws -> Set<String> {
    let lines = try CommandRun("store", "export", store, "-q").jsonLines
    return Set(lines.compactMap { ($0["values"] as? [String: Any])?["text"] as? String })
  }

  @Test("It is matched, planned for and migrated, and stays a store of that configuration")
  func bundle() throws {
    #expect(CommandRun("store", "match", store, model).status == .done)
    #expect(CommandRun("migrate", "status", store, model).output.contains("1 version behind"))
    #expect(CommandRun("migrate", "plan", store, model).status == .done)
    let run = CommandRun("migrate", "run", store, model, "--no-backup", "-q")
    #expect(run.status == .done, "\(run.error)")
    #expect(try texts() == ["Draft 1", "Draft 2", "Draft 3"])
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: "Writing 2"))
    let opened = try coordinator.addPersistentStore(
      type: .sqlite, configuration: "Local", at: URL(fileURLWithPath: store), options: nil)
    try coordinator.remove(opened)
  }

  @Test("Without its version at hand it is migrated from the model that it carries")
  func ownModel() throws {
    try FileManager.default.removeItem(atPath: model + "/Writing.xcdatamodel")
    let run = CommandRun("migrate", "run", store, model, "--no-backup", "-q")
    #expect(run.status == .done, "\(run.error)")
    #expect(try texts() == ["Draft 1", "Draft 2", "Draft 3"])
    #expect(CommandRun("migrate", "status", store, model).status == .done)
  }
}
