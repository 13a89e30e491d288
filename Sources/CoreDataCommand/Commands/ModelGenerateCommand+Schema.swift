// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSourceCode
import CoreDataTerminal
import Foundation

/// `coredata model generate --swiftdata`
extension ModelGenerateCommand {
  /// Writes a version as the source of a SwiftData schema, to a new file or to the standard output.
  static func writeSchema(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    for name in ["all", "strict", "check"] where arguments.flag(name) {
      throw CommandFailure(.usage, "--\(name) does not go with --swiftdata.")
    }
    if arguments.value("access") != nil {
      throw CommandFailure(.usage, "--access does not go with --swiftdata.")
    }
    let name = arguments.value("name")
    if let name, SwiftName.declared(name) != name {
      throw CommandFailure(.usage, "\"\(name)\" is not a name for an enum in Swift.")
    }
    let model = try invocation.model()
    let version = try model.version(arguments.value("version"))
    let schema = GeneratedSchema(version.document, name: name, origin: model.name)
    for remark in schema.remarks { invocation.remark(remark) }
    guard let path = arguments.value("output") else {
      guard invocation.options.format != .json else {
        throw CommandFailure(.usage, "--format json needs a file: name it with -o FILE.swift.")
      }
      try invocation.result.write(source: schema.text)
      return .done
    }
    let file = URL(fileURLWithPath: path)
    guard file.pathExtension == "swift" else {
      throw CommandFailure(.usage, "\(path) is not the name of a Swift file. Name one with -o FILE.swift.")
    }
    guard !FileCalls.exists(file) else {
      throw CommandFailure(
        .usage, "\(path) exists. A schema is not replaced, since it may have been completed by hand.",
        advice: ["Name another file, or remove this one."])
    }
    try Data(schema.text.utf8).write(to: file, options: .atomic)
    invocation.result.workDone = "\(file.lastPathComponent) was written."
    let entities = NumberText.counted(version.document.entities.count, "entity", "entities")
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.model-generate/1", "files": .integer(1), "isCheck": .bool(false),
        "changes": .array([["file": .string(file.lastPathComponent), "change": "added"]]),
      ])
    } else {
      var report = invocation.report()
      report.line("\(file.lastPathComponent): \(version.name), \(entities)")
      try invocation.write(report)
    }
    return .done
  }
}
