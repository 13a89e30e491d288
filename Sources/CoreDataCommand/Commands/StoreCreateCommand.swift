// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata store create`
enum StoreCreateCommand: Command {
  static let specification = CommandSpecification(
    ["store", "create"], summary: "Create an empty store.",
    discussion:
      "The type of the store follows from its name: XML if that ends with .xml, binary if it ends with .binary, otherwise "
      + "SQLite; --type says otherwise. An XML or binary store contains no model, so that commands about it need "
      + "--model.\n\nAn existing file is never replaced.",
    positionals: [PositionalSpecification("STORE", .one, .output, summary: "The path of the new store."), .model],
    options: [
      OptionSpecification("version", .text("V"), summary: "The version of the model (default: the current one)."),
      OptionSpecification(
        "type", .oneOf(StoreFileKind.allCases.map(\.rawValue)),
        summary: "The type of the store (default: what its name says, or sqlite)."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = try invocation.file("STORE")
    let model = try invocation.model()
    let version = try model.version(invocation.arguments.value("version"))
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) already exists. Choose another name, or move the file away first.")
    }
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The store cannot be created: \(folder) does not exist or is not writable.")
    }
    let kind = invocation.arguments.choice("type") ?? StoreFileKind(forFileAt: url)
    let made = try kind == .sqlite ? createDatabase(url, version, invocation) : createFile(kind, at: url, version)
    invocation.result.workDone = "\(url.lastPathComponent) was created."
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.store-create/1", "store": .string(url.path), "type": .string(kind.rawValue),
          "uuid": .string(made.uuid), "version": .string(version.name), "checksum": .string(made.checksum),
        ])
    } else {
      let count = NumberText.counted(made.entityCount, "entity", "entities")
      let type = kind == .sqlite ? "" : ", \(kind.rawValue)"
      try invocation.result.write("\(url.lastPathComponent): an empty store of \(version.name), \(count)\(type)\n")
    }
    return .done
  }

  /// What a report tells of the new store.
  private typealias Made = (uuid: String, checksum: String, entityCount: Int)

  private static func createDatabase(
    _ url: URL, _ version: ModelArgument.Version, _ invocation: CommandInvocation
  ) throws -> Made {
    for log in try StoreFiles.setOrphanedLogsAside(of: url) {
      invocation.remark(
        "A removed store left its log behind. The log was renamed to \(log.lastPathComponent). The new store ignores it."
      )
    }
    let reader = try StoreReader.create(at: url, model: version.document)
    return (reader.metadata.uuid, reader.metadata.checksum, reader.entityNames.count)
  }

  private static func createFile(
    _ kind: StoreFileKind, at url: URL, _ version: ModelArgument.Version
  ) throws -> Made {
    let model = try NSManagedObjectModel(document: version.document)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: kind.storeType, configuration: nil, at: url)
    let uuid = store.identifier ?? ""
    try coordinator.remove(store)
    return (uuid, model.versionChecksum, model.entities.count)
  }
}
