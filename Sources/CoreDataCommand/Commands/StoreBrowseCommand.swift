// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata store browse`
enum StoreBrowseCommand: Command {
  static let specification = CommandSpecification(
    ["store", "browse"], summary: "Show a store in a web browser: search, sort, follow relationships.",
    discussion:
      "Serves pages about the store to browsers on this machine until Ctrl-C, and prints their address: entities with the "
      + "numbers of their objects, a search in all rows, predicates, sorting, relationships to follow, pictures, and "
      + "persistent history. The pages need no script and load nothing from elsewhere.\n\nThe store is opened read-only, and "
      + "objects that other programs change meanwhile are shown as they are then. The server listens on 127.0.0.1 only. "
      + "The address contains a secret that is new each time: anyone on this machine who has it can read the store, and "
      + "with --write change it.\n\nWith --write, forms change, insert and delete objects, as store set and store delete do: "
      + "the rules of the model are checked, and a store that another program has open is refused. The store is backed up "
      + "before the first change. A form is refused if the object was changed after it was loaded.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "port", .integer("N", minimum: 0), summary: "The port to listen on (default: a free one)."),
      .flag("write", summary: "Change, insert and delete objects in the pages."),
      .backup, .noBackup,
      OpenedObjects.model,
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let port = invocation.arguments.integer("port") ?? 0
    guard port <= UInt16.max else {
      throw CommandFailure(.usage, "There is no port \(port). Name one from 1 to \(UInt16.max), or omit --port.")
    }
    let writes = invocation.arguments.flag("write")
    guard writes || !invocation.arguments.flag("backup") && !invocation.arguments.flag("no-backup") else {
      throw CommandFailure(.usage, "--backup and --no-backup belong to --write. Add that, or omit them.")
    }
    try invocation.checkBackupOptions()
    let server = try LocalServer(port: port, takesForms: writes)
    let store = try BrowsedStore(invocation)
    let site = BrowseSite(store, port: server.port, editing: writes ? BrowseEditing(invocation) : nil)
    StopSignals.handle {
      // A request that takes long is not waited for when the signal comes again. Reading leaves nothing to finish.
      if server.stop() > 1 { UnfinishedFiles.end() }
    }
    if invocation.options.format == .json {
      try invocation.write(
        ["format": "coredata.store-browse/1", "url": .string(site.url), "port": .integer(server.port)])
    } else {
      try invocation.result.write("\(store.name): \(site.url)\n")
    }
    // The address must be there while the server runs.
    try invocation.result.commit()
    invocation.remark("Press Ctrl-C to stop.")
    try server.run(site.answer)
    try store.close()
    return .done
  }
}
