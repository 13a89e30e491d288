// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// A model that a command has written, and the report about it.
struct MadeModel {
  let url: URL
  let current: String
  let versions: [ModelArgument.Version]
  /// Whether the file can hold several versions.
  let isBundle: Bool

  /// Writes the MODEL of a command in another form, and reports it.
  ///
  /// - Parameters:
  ///   - kind: What is written, for messages.
  ///   - bundle: The extension of a file with all versions.
  ///   - version: The extension of a file with one version.
  ///   - format: The name of the report's JSON format.
  ///   - writeBundle: Writes all versions, of which the named one is current.
  ///   - writeVersion: Writes one version.
  static func make(
    _ kind: String, bundle: String, version: String, format: String, _ invocation: CommandInvocation,
    writeBundle: ([ModelArgument.Version], _ current: String, URL) throws -> Void,
    writeVersion: (ModelDocument, URL) throws -> Void
  ) throws {
    let wanted = invocation.arguments.value("version")
    let file = try NewFile(invocation, kind, extensions: bundle, version)
    let isBundle = file.url.pathExtension == bundle
    guard !isBundle || wanted == nil else {
      throw CommandFailure(
        .usage, "An .\(bundle) holds all versions. Omit --version, or choose the extension .\(version).")
    }
    let model = try invocation.model()
    let current = try model.version(wanted)
    if isBundle {
      try model.requireAllVersions()
      try writeBundle(model.versions, current.name, file.url)
    } else {
      try writeVersion(current.document, file.url)
    }
    let made = MadeModel(
      url: file.url, current: current.name, versions: isBundle ? model.versions : [current], isBundle: isBundle)
    try made.write(format, invocation)
  }

  /// Writes the report.
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
