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
      + "The address contains a secret that is new each time: anyone on this machine who has it can read the store.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "port", .integer("N", minimum: 0), summary: "The port to listen on (default: a free one)."),
      OpenedObjects.model,
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let port = invocation.arguments.integer("port") ?? 0
    guard port <= UInt16.max else {
      throw CommandFailure(.usage, "There is no port \(port). Name one from 1 to \(UInt16.max), or omit --port.")
    }
    let server = try LocalServer(port: port)
    let store = try BrowsedStore(invocation)
    let site = BrowseSite(store, port: server.port)
    UnfinishedFiles.handleSignals {
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
