// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

extension BrowsedStore {
  /// Opens STORE for reading, wherever it is, with its own model or the one given by `--model`.
  ///
  /// - Throws: `CommandFailure`, `StoreProblem`, the errors of opening the store.
  init(_ invocation: CommandInvocation) throws {
    let argument = invocation.arguments.argument("STORE")
    let path = invocation.arguments.value("model")
    let address = try StoreAddress(argument)
    let found: (type: NSPersistentStore.StoreType, model: NSManagedObjectModel, configuration: String?)
    switch address {
    case .server(let url, let kind):
      let model = try path.map { try invocation.serverModel($0, url, kind) } ?? PrivateCopies.model(at: url, kind)
      found = (.sqlite, model, nil)
    case .file(let url):
      if let summary = try FileStoreSummary(of: url) {
        let version = try invocation.fileModel(path, of: url, summary)
        found = (summary.type, version.model, version.configuration)
      } else {
        let opened = try OpenedStore(invocation, argument, model: path)
        guard let document = opened.reader.model else {
          throw CommandFailure(
            .unreadableStore, "\(address.name) contains no model. Name the one it was created with: --model MODEL.")
        }
        opened.remark(invocation)
        found = (
          .sqlite, try NSManagedObjectModel(document: document),
          StoreMatch.configuration(of: document, matching: opened.reader.metadata.hashes)
        )
      }
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: found.model)
    let store = try coordinator.addPersistentStore(
      type: found.type, configuration: found.configuration, at: address.url,
      options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    self.init(
      context: context, store: store, coordinator: coordinator, name: address.name, location: address.text)
  }

  /// Closes the store. Nothing of the work is left beside it.
  func close() throws { try coordinator.remove(store) }
}
