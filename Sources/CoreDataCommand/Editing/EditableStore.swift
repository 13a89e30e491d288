// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// A store of any type that a command changes by objects, with the model that wrote it. With `--dry-run`, a private copy
/// is changed in its place, so that the same rules are checked.
///
/// Used on one thread.
final class EditableStore {
  let address: StoreAddress
  let context: NSManagedObjectContext
  let invocation: CommandInvocation
  let coordinator: NSPersistentStoreCoordinator
  let store: NSPersistentStore
  /// Where the copy of a store in a file is; nil if the store itself is changed, or one on a server was copied.
  private let copy: PrivateDirectory?
  private let configuration: String?
  let isDryRun: Bool
  let makesBackup: Bool
  /// The transaction of changes that are saved in parts; nil if there is none.
  var parts: Parts?

  /// The time to wait for other programs that have the store open, in seconds.
  private static let timeout: TimeInterval = 1
  /// The author of the changes in persistent history.
  static let author = "coredata"

  /// How a store is opened.
  private struct Definition {
    var type: NSPersistentStore.StoreType
    var url: URL
    var model: NSManagedObjectModel
    var configuration: String?
    var recordsHistory = false
  }

  /// The options of commands that change objects.
  static let options: [OptionSpecification] = [
    OptionSpecification("model", .path("MODEL", .input), summary: "The model of a store that contains none."),
    .flag("dry-run", summary: "Change a private copy instead, and report what would be done."),
    .backup, .noBackup,
    .format(.text, .json),
  ]

  /// A paragraph for the help of these commands.
  static let help =
    "All rules of the model are checked; if one is broken, nothing is changed. The store is backed up before, beside it, "
    + "such as Orders~.sqlite for Orders.sqlite (one in a database server only with --backup DIR). A SQLite store with a "
    + "write-ahead log is refused while another program has it open, any other store while another program writes to "
    + "it. Persistent history is recorded if the store has it, with the author \"coredata\". Code of an app, such as its "
    + "own validation, does not run."

  /// Opens STORE.
  ///
  /// - Parameters:
  ///   - isDryRun: whether a private copy is changed instead.
  ///   - makesBackup: whether the store is backed up before it is changed, unless `--no-backup` is given.
  /// - Throws: `CommandFailure` if it is read-only, open elsewhere, or was written with another model.
  init(_ invocation: CommandInvocation, isDryRun: Bool, makesBackup: Bool = true) throws {
    self.invocation = invocation
    (self.isDryRun, self.makesBackup) = (isDryRun, makesBackup)
    try invocation.checkBackupOptions()
    address = try StoreAddress(invocation.arguments.argument("STORE"))
    var definition: Definition
    var copy: PrivateDirectory?
    switch address {
    case .file(let url):
      definition = try Self.definition(ofFileAt: url, invocation, isDryRun: isDryRun)
      if isDryRun {
        let directory = try Self.copy(&definition)
        copy = directory
      }
    case .server(let url, let kind):
      let model = try invocation.chosenModel(url, kind)
      definition = Definition(type: .sqlite, url: url, model: model)
      if isDryRun { definition.url = try invocation.copies.copy(url, kind, model: model, hasRows: true) }
    }
    self.copy = copy
    configuration = definition.configuration
    do {
      coordinator = NSPersistentStoreCoordinator(managedObjectModel: definition.model)
      if case .server = address, !isDryRun { definition.recordsHistory = try Self.hasHistory(definition, coordinator) }
      store = try coordinator.addPersistentStore(
        type: definition.type, configuration: definition.configuration, at: definition.url,
        options: definition.recordsHistory ? [NSPersistentHistoryTrackingKey: true] : nil)
    } catch {
      // A copy that remains is private, and the next copy of the same store removes it.
      try? copy?.remove()
      throw error
    }
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.transactionAuthor = Self.author
    if store.isReadOnly {
      try close()
      throw CommandFailure(.failed, "\(address.name) is read-only and cannot be changed. Check its permissions.")
    }
  }

  // MARK: Opening

  private static func definition(
    ofFileAt url: URL, _ invocation: CommandInvocation, isDryRun: Bool
  ) throws -> Definition {
    let summary = try FileStoreSummary(of: url)
    if !isDryRun, FileManager.default.fileExists(atPath: url.path) {
      guard FileManager.default.isWritableFile(atPath: url.path) else {
        throw CommandFailure(.failed, "\(url.path) is read-only and cannot be changed. Check its permissions.")
      }
      if summary == nil { try invocation.recover(url) }
    }
    if let summary {
      let version = try invocation.fileModel(invocation.arguments.value("model"), of: url, summary)
      return Definition(type: summary.type, url: url, model: version.model, configuration: version.configuration)
    }
    let opened = try OpenedStore(invocation)
    let reader = opened.reader
    // The reader has changed nothing, and its connection would count as that of another program.
    defer { try? reader.file.close() }
    opened.remark(invocation)
    guard let document = reader.model, !reader.metadata.isMissing else {
      throw CommandFailure(
        .unreadableStore,
        "\(url.lastPathComponent) contains no \(reader.metadata.isMissing ? "metadata" : "model"), so its rules are unknown."
          + (reader.metadata.isMissing ? "" : " Name the one it was created with: --model MODEL."))
    }
    let definition = Definition(
      type: .sqlite, url: url, model: try NSManagedObjectModel(document: document),
      configuration: StoreMatch.configuration(of: document, matching: reader.metadata.hashes),
      recordsHistory: reader.catalog.table(named: "ATRANSACTION") != nil)
    if isDryRun { return definition }
    try reader.file.close()
    if let user = try StoreFile.user(of: url, timeout: timeout) {
      throw CommandFailure(
        .unreadableStore,
        "\(user) has \(url.lastPathComponent) open, and would not notice the change. Close it there, and run the command "
          + "again. Nothing was changed.")
    }
    return definition
  }

  /// Copies a store in a file to a private directory, and has the definition refer to the copy.
  private static func copy(_ definition: inout Definition) throws -> PrivateDirectory {
    let original = definition.url
    let directory = try CopyDirectory.make(for: original)
    let copy = directory.url.appendingPathComponent(original.lastPathComponent)
    do {
      if definition.type == .sqlite {
        try StoreFiles.copy(from: original, to: copy, values: .linked)
      } else {
        try FileManager.default.copyItem(at: original.resolvingSymlinksInPath(), to: copy)
      }
    } catch {
      // The error that is being thrown takes precedence.
      try? directory.remove()
      throw error
    }
    definition.url = copy
    return directory
  }

  /// Whether a store on a server has persistent history, without which it would be opened read-only.
  private static func hasHistory(_ definition: Definition, _ coordinator: NSPersistentStoreCoordinator) throws -> Bool {
    let store = try coordinator.addPersistentStore(
      type: definition.type, configuration: definition.configuration, at: definition.url,
      options: [NSReadOnlyPersistentStoreOption: true])
    let hasHistory = (store as? any HistoryStore)?.hasHistory ?? false
    try coordinator.remove(store)
    return hasHistory
  }

  // MARK: Objects

  /// Returns an object by its identifier: `x-coredata://UUID/Order/p3`, `Order/p3` or `Order/3`.
  ///
  /// - Throws: `CommandFailure` if there is none.
  func object(_ id: String) throws -> NSManagedObject {
    guard let object = try existing(id) else {
      let name = address.name
      let mark = "://"
      if let start = id.range(of: mark), let host = URL(string: id)?.host, id.hasPrefix("x-coredata"),
        host.caseInsensitiveCompare(store.identifier ?? "") != .orderedSame
      {
        throw CommandFailure(
          .failed,
          "\(id) is an object of another store: the identifiers of \(name) begin with "
            + "\(id[..<start.upperBound])\(store.identifier ?? "")/. Nothing was changed.")
      }
      guard id.contains("/") else {
        throw CommandFailure(
          .usage, "\(JSONText.string(id).line()) is not the identifier of an object. Write it like Order/p3.")
      }
      throw CommandFailure(.failed, "\(name) has no object \(id). Nothing was changed.")
    }
    return object
  }

  /// Returns an object by its identifier; nil if the store has none.
  func existing(_ id: String) throws -> NSManagedObject? {
    // The number may stand without the p.
    let short = id.replacing(/^([^\/:]+)\/([0-9]+)$/) { "\($0.1)/p\($0.2)" }
    let text = id.contains("://") ? id : "x-coredata://\(store.identifier ?? "")/\(short)"
    guard let url = URL(string: text), let found = coordinator.managedObjectID(forURIRepresentation: url),
      let object = try context.storedObject(found)
    else { return nil }
    return object.entity.name == url.pathComponents[1] || object.entity.isKind(of: url.pathComponents[1]) ? object : nil
  }

  /// The entities of the store, by name.
  var entities: [String: NSEntityDescription] {
    let model = coordinator.managedObjectModel
    guard let configuration, let own = model.entities(forConfigurationName: configuration) else {
      return model.entitiesByName
    }
    return Dictionary(own.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  // MARK: Saving

  /// Whether there is anything to save. An object whose values were set to what they are counts as updated, and has no
  /// changed values.
  var hasChanges: Bool {
    !context.insertedObjects.isEmpty || !context.deletedObjects.isEmpty
      || context.updatedObjects.contains(where: \.hasPersistentChangedValues)
  }

  /// Backs up the store, and saves all changes in one transaction.
  ///
  /// - Parameter lines: the lines of a file that objects come from.
  /// - Returns: the location of the backup; nil if there is none.
  /// - Throws: `CommandFailure` with a line for each broken rule. The store is unchanged, and the backup removed.
  func save(_ lines: RecordLines = RecordLines()) throws -> URL? {
    if parts != nil { return try finishParts(lines) }
    // From here on, stopping the command must not leave a partial backup.
    let stop = StopSignal()
    defer { stop.end() }
    if isDryRun {
      try saveChecked(lines)
      return nil
    }
    switch address {
    case .file(let url):
      let backup = makesBackup ? try invocation.makeBackup(of: url) : nil
      do {
        try stop.check()
        try saveChecked(lines)
      } catch {
        if let backup { removeNeedless(backup) }
        throw error
      }
      return backup
    case .server(let url, let kind):
      let identifiers = coordinator.managedObjectModel.versionIdentifiers.compactMap { $0 as? String }
      let version = identifiers.filter { !$0.isEmpty }.sorted().first
      let backup =
        makesBackup ? try invocation.makeBackup(ofServerStoreAt: url, kind, version: version ?? "before-change") : nil
      do {
        try stop.check()
        try saveChecked(lines)
      } catch {
        if let backup { invocation.remark("The backup was kept: \(backup.file.path)") }
        throw error
      }
      if let backup { invocation.remarkRestoring(backup) }
      return backup?.file
    }
  }

  private func saveChecked(_ lines: RecordLines) throws {
    do {
      try context.save()
    } catch {
      throw saveFailure(error, lines)
    }
  }

  func saveFailure(_ error: any Error, _ lines: RecordLines) -> CommandFailure {
    error as? CommandFailure ?? SaveFailure(error as NSError, address, lines).failure
  }

  func removeNeedless(_ backup: URL) {
    do {
      try StoreBackup.remove(backup)
    } catch {
      invocation.remark("The backup was kept: \(backup.path)")
    }
  }

  /// Returns the last line of a report.
  func closingLine(_ backup: URL?) -> String {
    if isDryRun { return "Nothing was changed." }
    return backup.map { "Backup  \($0.path)" } ?? "No backup was created."
  }

  /// Opens STORE for a body, which runs on the queue of its context, and closes it.
  ///
  /// - Parameters: as those of the initializer.
  /// - Throws: the errors of opening the store, and of the body.
  static func with<Result>(
    _ invocation: CommandInvocation, isDryRun: Bool, makesBackup: Bool = true, _ body: (EditableStore) throws -> Result
  ) throws -> Result {
    let store = try EditableStore(invocation, isDryRun: isDryRun, makesBackup: makesBackup)
    let result: Result
    do {
      result = try store.context.performAndWait { try body(store) }
    } catch {
      // The error of the body takes precedence.
      try? store.close()
      throw error
    }
    try store.close()
    return result
  }

  /// Closes the store, and removes the copy of a dry run.
  private func close() throws {
    abandonParts()
    context.reset()
    try coordinator.remove(store)
    // A copy that remains is private, and the next copy of the same store removes it.
    try? copy?.remove()
  }
}

extension NSEntityDescription {
  /// Whether the entity is one of this name, or a subentity of it.
  func isKind(of name: String) -> Bool {
    sequence(first: self) { $0.superentity }.contains { $0.name == name }
  }
}

extension NSManagedObject {
  /// The identifier without the store, such as `Order/p3`.
  var shortID: String {
    objectID.isTemporaryID
      ? "a new \(entity.name ?? "")" : objectID.uriRepresentation().pathComponents.suffix(2).joined(separator: "/")
  }
}
