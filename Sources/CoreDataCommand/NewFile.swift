// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// The file or folder that a command makes; one that is there already is never replaced.
struct NewFile {
  let url: URL

  /// Takes `--output`.
  ///
  /// - Parameters:
  ///   - what: what is made, for messages: `compiled model`.
  ///   - extensions: those that the name may have.
  init(_ invocation: CommandInvocation, _ what: String, extensions: String...) throws {
    let list = extensions.map { ".\($0)" }.joined(separator: " or ")
    guard let path = invocation.arguments.value("output") else {
      let words = invocation.arguments.specification.path.joined(separator: " ")
      throw CommandFailure(.usage, "\(words) needs the name of the \(what), \(list): --output FILE.")
    }
    url = URL(fileURLWithPath: path)
    guard extensions.contains(url.pathExtension) else {
      throw CommandFailure(.usage, "The name of the \(what) must end with \(list), unlike \(url.lastPathComponent).")
    }
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) exists already. Choose another name, or move it away first.")
    }
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The \(what) cannot be made: \(folder) does not exist or cannot be written.")
    }
  }

  /// Whether a path names a mapping model, and not a place for a report.
  static func isMapping(_ path: String?) -> Bool {
    path.map { ["cdm", "xcmappingmodel", "mapping"].contains(URL(fileURLWithPath: $0).pathExtension) } ?? false
  }

  /// The option, in place of the common one.
  static func option(_ placeholder: String) -> OptionSpecification {
    OptionSpecification(
      "output", short: "o", .text(placeholder), summary: "What is made; never one that is there already.")
  }
}
