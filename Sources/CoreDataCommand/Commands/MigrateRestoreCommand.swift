// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata migrate restore`
enum MigrateRestoreCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "restore"], summary: "Restore a store from a backup.",
    discussion:
      "Atomically replaces the store, including its external data, with a copy of the backup. The replaced store is "
      + "kept under the next free backup name. First quit all programs that use the store.",
    positionals: [
      PositionalSpecification("STORE", summary: "The path of the store, which may be missing."),
      PositionalSpecification("BACKUP", summary: "A backup made by migrate run, such as Orders~.sqlite."),
    ],
    options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let (store, backup) = (invocation.url("STORE"), invocation.url("BACKUP"))
    do {
      _ = try StoreReader(url: backup)
    } catch let problem as StoreProblem where problem.kind == .missing {
      throw CommandFailure(.unreadableStore, "There is no file \(backup.path).", advice: advice(store))
    }
    let kept = try StoreBackup.restore(backup, to: store)
    let (name, source) = (store.lastPathComponent, backup.lastPathComponent)
    invocation.result.workDone = "\(name) was restored from \(source)."
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.restore/1", "store": .string(store.path), "backup": .string(backup.path),
        "kept": .optional(kept?.path),
      ])
    } else {
      try invocation.result.write("Restored \(name) from \(source).\n")
      if let kept { try invocation.result.write("Kept    \(kept.path)\n") }
    }
    return .done
  }

  /// Lists the existing backups.
  private static func advice(_ store: URL) -> [String] {
    let prefix = "\(store.deletingPathExtension().lastPathComponent)~"
    let folder = store.deletingLastPathComponent()
    // If the directory cannot be read, there is nothing to suggest.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let backups = names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".\(store.pathExtension)") }.sorted()
    return backups.isEmpty ? [] : ["Beside the store there are \(backups.joined(separator: ", "))."]
  }
}
