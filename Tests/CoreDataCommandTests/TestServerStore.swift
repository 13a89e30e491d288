// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

@testable import CoreData
@testable import CoreDataStoreFiles

/// A store in a server that is this process: what has been written outlives the store, by its URL.
final class TestServerStore: MemoryStore, ServerStore, PartialCopyDestination, @unchecked Sendable {
  private static let kept = Guarded<[String: TestServerStore]>([:])
  /// The number of writes of copies that succeed; nil for all.
  static let allowedWrites = Guarded<Int?>(nil)

  static let schemes: Set<String> = ["teststore"]
  static let registration: Void = StoreKinds.register(server: TestServerStore.self, for: "TestServer")

  struct Failure: Error {}

  private static func kept(at url: URL) throws -> TestServerStore {
    if let store = kept.value[url.withoutPassword.absoluteString] { return store }
    throw StoreErrors.cannotOpen(url: url, reason: "There is no such database.")
  }

  fileprivate static func keep(_ store: TestServerStore?, at url: URL) {
    kept.update { $0[url.withoutPassword.absoluteString] = store }
  }

  static func hasStore(at url: URL) throws -> Bool { kept.value[url.withoutPassword.absoluteString] != nil }

  static func carriedModel(at url: URL) throws -> NSManagedObjectModel? { try kept(at: url).openTables().model }

  /// What stores in this server are said to suffer from.
  static let knownProblems = Guarded<[ServerStoreProblem]>([])

  static func problems(at url: URL) throws -> [ServerStoreProblem] { knownProblems.value }

  /// Repairs all but the problems whose statement is said to be refused.
  static func repair(at url: URL) throws -> ServerStoreRepair {
    let repairable = knownProblems.value.filter { !$0.repair.isEmpty }
    let refused = repairable.filter { $0.repair == ["refused"] }
    let repaired = repairable.filter { $0.repair != ["refused"] }
    knownProblems.update { problems in problems.removeAll(where: repaired.contains) }
    return ServerStoreRepair(repaired: repaired, refused: refused)
  }

  /// Whether this server is said to be a standby.
  static let isStandby = Guarded(false)

  static func isReadOnly(at url: URL) throws -> Bool { isStandby.value }

  static func size(at url: URL) throws -> Int {
    _ = try kept(at: url)
    return 7_000
  }

  /// Counts in a copy, since this server has no SQL.
  static func reading<Result>(at url: URL, _ body: (any ServerContents) throws -> Result) throws -> Result {
    let store = try kept(at: url)
    let copy = try ServerCopy(
      of: url, metadata: store.metadata ?? [:], store.openTables().model, configuration: nil)
    defer { copy.remove() }
    try copy.fill { try $0.openStore(self, at: url) }
    return try body(CopiedContents(file: StoreFile.openUntouched(copy.url)))
  }

  private struct CopiedContents: ServerContents {
    let file: StoreFile

    var database: any SQLDatabase { file.connection }

    func metadata() throws -> [String: Any] { try file.metadata() }

    func schema(for document: ModelDocument, configuration: String?) throws -> StoreSchema {
      try file.schema(for: document, configuration: configuration)
    }
  }

  static func destroy(at url: URL) throws { keep(nil, at: url) }

  /// The rows that stores in this server are said to have besides those of an unfinished copy.
  static let otherRows = Guarded(0)

  static func removeUnfinishedCopy(at url: URL, discardsOthers: Bool) throws -> Bool {
    guard try metadataForPersistentStore(with: url)[StoreMetadata.Key.unfinishedCopy] != nil else { return false }
    if otherRows.value > 0, !discardsOthers {
      throw CopyErrors.hasOtherRows(url: url, [("Order", otherRows.value)])
    }
    keep(nil, at: url)
    return true
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try kept(at: url).metadata ?? [:]
  }

  static func migrationStatements(
    at url: URL, through models: [NSManagedObjectModel], configuration: String?
  ) throws -> [ServerStatement] {
    throw ServerStepObstacle(reason: "this server has no statements")
  }

  /// What another process does while a migration waits for its turn.
  static let beforeMigration = Guarded<(@Sendable () -> Void)?>(nil)

  static func beginMigration(of url: URL, options: [AnyHashable: Any]) throws -> any ServerMigration {
    beforeMigration.value?()
    return TestServerMigration(url)
  }

  override var type: String { "TestServer" }

  /// What another process does between the moments when a store is examined and when it is opened.
  static let beforeOpening = Guarded<(@Sendable () -> Void)?>(nil)

  override func loadMetadata() throws {
    Self.beforeOpening.value?()
    try super.loadMetadata()
    if let url, try Self.hasStore(at: url) { setInitialMetadata(try Self.metadataForPersistentStore(with: url)) }
  }

  override func finishOpening() throws {
    try super.finishOpening()
    guard let url else { return }
    if try Self.hasStore(at: url) {
      tables = try Self.kept(at: url).openTables().copied(for: self)
    }
    Self.keep(self, at: url)
  }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  func recordCopy(_ progress: CopyProgress?) throws {
    var metadata: [String: Any] = self.metadata ?? [:]
    metadata[StoreMetadata.Key.unfinishedCopy] = progress?.propertyList
    setInitialMetadata(metadata)
  }

  override func insertCopies(_ rows: [RowChange]) throws {
    let isAllowed = Self.allowedWrites.update { left in
      guard let count = left else { return true }
      left = count - 1
      return count > 0
    }
    guard isAllowed else { throw Failure() }
    try super.insertCopies(rows)
  }
}

/// A migration that writes the new version beside the old one.
private final class TestServerMigration: ServerMigration {
  private let url: URL
  private var draft: TestServerStore?

  init(_ url: URL) { self.url = url }

  private var draftURL: URL { URL(string: url.absoluteString + "-draft") ?? url }

  func metadata() throws -> [String: Any] { try TestServerStore.metadataForPersistentStore(with: url) }

  func carriedModel() throws -> NSManagedObjectModel? { try TestServerStore.carriedModel(at: url) }

  func source(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator
  ) throws -> any RowStore { try coordinator.openStore(TestServerStore.self, at: url) }

  func counted(
    _ items: [DroppedContent], in model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent] {
    try TestServerStore.reading(at: url) { contents in
      let document = model.document
      let schema = try contents.schema(for: document, configuration: document.configuration(configuration))
      return try StoreContents(contents.database, schema: schema).counted(items)
    }
  }

  func migrate(through models: [NSManagedObjectModel], configuration: String?) throws -> Bool { false }

  func destination(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator,
    metadata: [String: Any]
  ) throws -> any RowStore {
    let store = TestServerStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: draftURL, options: nil)
    try coordinator.finishOpening(store)
    var own: [String: Any] = store.metadata ?? [:]
    own[NSStoreUUIDKey] = metadata[NSStoreUUIDKey]
    store.setInitialMetadata(own)
    draft = store
    return store
  }

  func commit() throws {
    if let draft { TestServerStore.keep(draft, at: url) }
    rollBack()
  }

  func rollBack() { TestServerStore.keep(nil, at: draftURL) }
}
