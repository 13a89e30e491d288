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
    ["store", "create"], summary: "An empty store of that version.",
    discussion: "A file that is there already is never replaced.",
    positionals: [PositionalSpecification("STORE", summary: "Where the store is to be."), .model],
    options: [
      OptionSpecification("version", .text("V"), summary: "The version of the model (the current one)."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = invocation.url("STORE")
    let model = try invocation.model()
    let version = try model.version(invocation.arguments.value("version"))
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) exists already. Choose another name, or move the file away first.")
    }
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The store cannot be made: \(folder) does not exist or cannot be written.")
    }
    for log in try StoreFiles.setDeadLogsAside(of: url) {
      invocation.remark(
        "A store that is gone has left a log. It is called \(log.lastPathComponent) now, and is no part of the new store."
      )
    }
    let reader = try StoreReader.create(at: url, model: version.document)
    invocation.result.workDone = "\(url.lastPathComponent) was made."
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
