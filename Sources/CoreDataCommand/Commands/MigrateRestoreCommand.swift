// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata migrate restore`
enum MigrateRestoreCommand: Command {
  static let specification = CommandSpecification(
    ["migrate", "restore"], summary: "Go back to a backup.",
    discussion:
      "The store becomes what the backup is, its files of large values included, atomically; the backup stays. The store "
      + "that was there is kept under the next free name of a backup. Close programs that use the store first.",
    positionals: [
      PositionalSpecification("STORE", summary: "Where the store is, or was."),
      PositionalSpecification("BACKUP", summary: "What migrate run has made, as Orders~.sqlite."),
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
      try invocation.result.write("\(name) is restored from \(source), which stays.\n")
      if let kept { try invocation.result.write("Kept    \(kept.path)\n") }
    }
    return .done
  }

  /// The backups that are there instead.
  private static func advice(_ store: URL) -> [String] {
    let prefix = "\(store.deletingPathExtension().lastPathComponent)~"
    let folder = store.deletingLastPathComponent()
    // Where the directory cannot be read, there is nothing to propose.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let backups = names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".\(store.pathExtension)") }.sorted()
    return backups.isEmpty ? [] : ["Beside the store there are \(backups.joined(separator: ", "))."]
  }
}
