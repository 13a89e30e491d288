// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// The file or directory that a command creates. Existing files are never replaced.
struct NewFile {
  let url: URL

  /// Reads `--output`.
  ///
  /// - Parameters:
  ///   - what: What is created, for messages: `compiled model`.
  ///   - extensions: The extensions that the name may have.
  init(_ invocation: CommandInvocation, _ what: String, extensions: String...) throws {
    let list = extensions.map { ".\($0)" }.joined(separator: " or ")
    guard let path = invocation.arguments.value("output") else {
      let words = invocation.arguments.specification.path.joined(separator: " ")
      throw CommandFailure(.usage, "\(words) needs a name for the \(what) (\(list)): --output FILE.")
    }
    url = URL(fileURLWithPath: path)
    guard extensions.contains(url.pathExtension) else {
      throw CommandFailure(
        .usage, "The name of the \(what) must end in \(list), and \(url.lastPathComponent) does not.")
    }
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) already exists. Choose another name, or move it away first.")
    }
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The \(what) cannot be created: \(folder) does not exist or is not writable.")
    }
  }

  /// Whether a path names a mapping model rather than a file for the report.
  static func isMapping(_ path: String?) -> Bool {
    path.map { ["cdm", "xcmappingmodel", "mapping"].contains(URL(fileURLWithPath: $0).pathExtension) } ?? false
  }

  /// The option that replaces the common one.
  static func option(_ placeholder: String) -> OptionSpecification {
    OptionSpecification(
      "output", short: "o", .text(placeholder), summary: "The file to create. An existing one is never replaced.")
  }
}
