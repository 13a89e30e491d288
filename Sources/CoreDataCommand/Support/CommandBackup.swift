// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// The options of commands that back up the store that they change.
extension OptionSpecification {
  static let backup = OptionSpecification(
    "backup", .path("DIR", .outputDirectory),
    summary: "The directory for the backup (default: that of the store; none for one in a server).")
  static let noBackup = OptionSpecification.flag("no-backup", summary: "Do not create a backup.")
}

/// Recovery and backups of a store that a command is about to change.
extension CommandInvocation {
  /// - Throws: `CommandFailure` for contradictory options.
  func checkBackupOptions() throws {
    guard arguments.flag("no-backup"), arguments.flag("backup") else { return }
    throw CommandFailure(.usage, "--backup and --no-backup cannot be used together.")
  }

  /// Recovers from a process that was killed, and reports it.
  func recover(_ url: URL) throws {
    guard FileManager.default.isWritableFile(atPath: url.path) else { return }
    if FileManager.default.isWritableFile(atPath: url.deletingLastPathComponent().path) {
      try clearBackups(of: url, in: nil)
    }
    switch try StoreRecovery.recover(interruptedAt: url) {
    case .finished:
      remark("Earlier work on \(url.storeName) was complete when interrupted. Its left-over files were removed.")
    case .undone:
      remark("Earlier work on \(url.storeName) was interrupted and has been undone. The store is as it was before.")
    case .rolledBack:
      remark(
        "A program was killed while writing to \(url.storeName). Its transaction was rolled back, and the "
          + "store is as it was before.")
    case nil: break
    }
  }

  /// Completes or removes the backups of killed commands, and reports it.
  private func clearBackups(of url: URL, in folder: URL?) throws {
    let found = try StoreBackup.clearLeftovers(of: url, in: folder)
    for backup in found.completed {
      remark("An earlier run was stopped before it could name its backup, which is complete: \(backup.path)")
    }
    if found.removedCount > 0 {
      let count = NumberText.counted(found.removedCount, "incomplete backup")
      remark("Removed \(count) of \(url.storeName), left by a stopped run.")
    }
  }

  /// Backs up a store in a file, after removing what killed commands left in the backup directory.
  ///
  /// - Returns: nil with `--no-backup`.
  func makeBackup(of url: URL) throws -> URL? {
    if arguments.flag("no-backup") { return nil }
    let folder = arguments.value("backup").map { URL(fileURLWithPath: $0, isDirectory: true) }
    if folder != nil { try clearBackups(of: url, in: folder) }
    return try StoreBackup.make(of: url, in: folder)
  }

  /// Backs up a store on a server with the server's own tool, if `--backup` names a directory.
  ///
  /// - Parameter version: the version of the store, for the name of the backup.
  /// - Throws: `CommandFailure` if there is no such tool.
  func makeBackup(ofServerStoreAt url: URL, _ kind: any ServerStore.Type, version: String) throws -> ServerBackup? {
    guard let path = arguments.value("backup") else { return nil }
    guard let kind = kind as? any AdministeredStore.Type else {
      throw CommandFailure(
        .usage, "--backup cannot be used with \(url.storeName). Back it up with the server's tools.")
    }
    let time = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    // Names of schemas and versions may contain anything.
    let name = "\(url.storeName)-\(version)-\(time)".replacing(/[^A-Za-z0-9._-]/, with: "_")
    do {
      return try kind.backUp(at: url, to: URL(fileURLWithPath: path, isDirectory: true), name: name)
    } catch let missing as BackupToolMissing {
      throw CommandFailure(
        .failed,
        "\(missing.program) is not installed, so that \(url.storeName) cannot be backed up. Nothing was changed. "
          + "\(missing.advice) Or back it up in another way, and leave out --backup.")
    }
  }

  /// Reports how to restore a backup of a store on a server.
  func remarkRestoring(_ backup: ServerBackup) {
    remark("To restore the backup, stop all programs that use the store, and run:")
    for command in backup.restoring { remark("  \(command)") }
  }
}
