// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The objects of a store of any type, opened for reading with the model that wrote it.
struct OpenedObjects {
  let context: NSManagedObjectContext
  let coordinator: NSPersistentStoreCoordinator
  let store: NSPersistentStore
  let address: StoreAddress
  /// The copy that is read in place of a store beside which SQLite would write; nil if the store itself is read.
  private let copy: PrivateDirectory?
  /// The store's file, if SQLite creates other files beside it for reading; nil if these were there before.
  private let fileToTidy: URL?

  /// The option of commands that open a store for its objects.
  static let model = OptionSpecification(
    "model", .path("MODEL", .input), summary: "The model of the store (default: the one that it contains).")

  /// Opens STORE, with its own model or the one given by `--model`.
  ///
  /// - Parameter seesChanges: whether changes of other programs are seen as long as the store is open. SQLite then writes
  ///   beside the store meanwhile.
  /// - Throws: `CommandFailure`, `StoreProblem`, the errors of opening the store.
  init(_ invocation: CommandInvocation, seesChanges: Bool = false) throws {
    let argument = invocation.arguments.argument("STORE")
    let path = invocation.arguments.value("model")
    address = try StoreAddress(argument)
    let found: (type: NSPersistentStore.StoreType, model: NSManagedObjectModel, configuration: String?)
    switch address {
    case .server(let url, let kind):
      found = (.sqlite, try invocation.chosenModel(url, kind), nil)
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
    let isDatabase = address.isFile && found.type == .sqlite
    let made = isDatabase && !seesChanges ? try StoreFile.copyIfReadingWrites(address.url) : nil
    copy = made?.directory
    let needsTidying =
      isDatabase && seesChanges && !FileManager.default.fileExists(atPath: Self.index(of: address.url))
    fileToTidy = needsTidying ? address.url : nil
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: found.model)
    var options: [AnyHashable: Any] = [NSReadOnlyPersistentStoreOption: true]
    // External data is read where it is.
    if made != nil { options[StoreOptions.externalDataOwner] = address.url }
    do {
      store = try coordinator.addPersistentStore(
        type: found.type, configuration: found.configuration, at: made?.file ?? address.url,
        options: options)
    } catch {
      // A copy that remains is private, and the next copy of the same store removes it.
      try? copy?.remove()
      throw error
    }
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.undoManager = nil
  }

  /// Opens STORE for a body that reads on the queue of its context, and closes it.
  ///
  /// - Throws: the errors of opening the store, and of the body.
  static func with<Result>(_ invocation: CommandInvocation, _ body: (OpenedObjects) throws -> Result) throws -> Result {
    let objects = try OpenedObjects(invocation)
    defer {
      // Nothing was written, so nothing can be lost by a failure to close.
      try? objects.close()
    }
    return try objects.context.performAndWait { try body(objects) }
  }

  /// Closes the store. Nothing of the work remains beside it.
  func close() throws {
    try coordinator.remove(store)
    try copy?.remove()
    guard let fileToTidy, FileManager.default.fileExists(atPath: Self.index(of: fileToTidy)) else { return }
    // A reader that is the last connection leaves the files of the log behind; a writer removes them. A log that is not
    // empty belongs to another program, and is left alone.
    try StoreFile.openToCopy(fileToTidy).connection.close()
  }

  /// Returns the path of the file that SQLite needs to read a store with a write-ahead log.
  private static func index(of url: URL) -> String { DatabaseFile.target(of: url.path) + "-shm" }

  // MARK: Names

  /// The entities whose objects the store can have, sorted by name.
  var entities: [NSEntityDescription] {
    let model = coordinator.managedObjectModel
    // Only a store of a named configuration lacks entities of the model.
    let all = model.entities(forConfigurationName: store.configurationName) ?? model.entities
    return all.filter { $0.name != nil }.sorted { $0.name ?? "" < $1.name ?? "" }
  }

  /// - Throws: `CommandFailure` that names the entities.
  func entity(named name: String) throws -> NSEntityDescription {
    if let entity = entities.first(where: { $0.name == name }) { return entity }
    let all = entities.compactMap(\.name)
    let likely = Likeness.nearest(to: name, among: all).map { " Did you mean \($0)?" } ?? ""
    throw CommandFailure(
      .unreadableStore, "\(address.name) has no entity \(name).\(likely) It has \(all.joined(separator: ", ")).")
  }

  /// Returns the object with an identifier written as `Entity/p3`, `Entity/3` or a whole URI.
  ///
  /// - Throws: `CommandFailure` for another text, and if the store has no such object; the errors of reading the store.
  func object(_ text: String) throws -> NSManagedObject {
    let id = try id(text)
    guard let object = try context.storedObject(id) else {
      throw CommandFailure(.unreadableStore, "\(address.name) has no object \(Self.short(id)).")
    }
    return object
  }

  private func id(_ text: String) throws -> NSManagedObjectID {
    var parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if text.hasPrefix("x-coredata://"), parts.count == 5 {
      let identifier = store.identifier ?? ""
      guard parts[2].isEmpty || parts[2].caseInsensitiveCompare(identifier) == .orderedSame else {
        throw CommandFailure(
          .unreadableStore,
          "\(text) is an object of another store: \(address.name) has the identifier \(identifier). Name the object as "
            + "\(parts[3])/\(parts[4]) if it was copied from there with its number.")
      }
      parts = Array(parts[3...])
    }
    guard parts.count == 2, !parts[1].isEmpty else {
      throw CommandFailure(
        .usage, "\(text) does not name an object. Write the entity and the number, such as Note/p3, or the whole URI.")
    }
    let entity = try entity(named: parts[0])
    let reference = parts[1].allSatisfy(\.isNumber) ? "p" + parts[1] : parts[1]
    let path = [store.identifier ?? "", entity.name ?? "", reference]
      .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._~"))) ?? $0 }
    guard let url = URL(string: "x-coredata://" + path.joined(separator: "/")),
      let id = coordinator.managedObjectID(forURIRepresentation: url)
    else {
      throw CommandFailure(
        .usage,
        "\(parts[1]) is no reference to an object. Write the number that store query shows, such as \(parts[0])/p3.")
    }
    return id
  }

  /// Returns the end of an identifier's URI, such as `Note/p3`.
  static func short(_ id: NSManagedObjectID) -> String {
    id.uriRepresentation().pathComponents.suffix(2).joined(separator: "/")
  }
}

extension NSManagedObjectContext {
  /// Returns the object of an identifier; nil if the store has no such row.
  func storedObject(_ id: NSManagedObjectID) throws -> NSManagedObject? {
    do {
      return try existingObject(with: id)
    } catch let error as NSError
      where error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectReferentialIntegrityError
    {
      return nil
    }
  }
}
