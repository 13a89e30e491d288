// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// A model that a command has written, and what it says about it.
struct MadeModel {
  let url: URL
  let current: String
  let versions: [ModelArgument.Version]
  /// Whether the model may have several versions.
  let isBundle: Bool

  /// Writes the result of the command.
  func write(_ format: String, _ invocation: CommandInvocation) throws {
    guard invocation.options.format != .json else {
      return try invocation.write(
        [
          "format": .string(format), "model": .string(url.path), "current": .string(current),
          "versions": .array(
            versions.map {
              [
                "name": .string($0.name), "entities": .integer($0.document.entities.count),
                "checksum": .string(VersionHashes($0.document).checksum),
              ]
            }),
        ])
    }
    let entities = versions.first.map { NumberText.counted($0.document.entities.count, "entity", "entities") } ?? ""
    let content =
      isBundle
      ? "\(NumberText.counted(versions.count, "version")), current \(current)" : "\(current), \(entities)"
    try invocation.result.write("\(url.lastPathComponent): \(content)\n")
  }
}
