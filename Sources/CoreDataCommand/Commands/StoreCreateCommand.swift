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
    discussion: "An existing file is never replaced.",
    positionals: [PositionalSpecification("STORE", .one, .output, summary: "The path of the new store."), .model],
    options: [
      OptionSpecification("version", .text("V"), summary: "The version of the model (default: the current one)."),
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
    for log in try StoreFiles.setOrphanedLogsAside(of: url) {
      invocation.remark(
        "A removed store left its log behind. The log was renamed to \(log.lastPathComponent). The new store ignores it."
      )
    }
    let reader = try StoreReader.create(at: url, model: version.document)
    invocation.result.workDone = "\(url.lastPathComponent) was created."
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.store-create/1", "store": .string(url.path), "uuid": .string(reader.metadata.uuid),
          "version": .string(version.name), "checksum": .string(reader.metadata.checksum),
        ])
    } else {
      let count = NumberText.counted(reader.entityNames.count, "entity", "entities")
      try invocation.result.write("\(url.lastPathComponent): an empty store of \(version.name), \(count)\n")
    }
    return .done
  }
}
