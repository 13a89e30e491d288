// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The location of a store given by an argument: a path, or a URL of a database server.
enum StoreAddress {
  case file(URL)
  case server(URL, any ServerStore.Type)

  /// - Throws: 134080 for a URL with a scheme that belongs to no type of store.
  init(_ argument: String) throws {
    guard let mark = argument.range(of: "://") else {
      self = .file(URL(fileURLWithPath: argument))
      return
    }
    guard let url = URL(string: argument), let scheme = url.scheme else {
      throw CommandFailure(
        .usage,
        "The URL \(argument[..<mark.lowerBound])://… cannot be read. Several hosts are written as parameters, "
          + "?host=a,b&port=5432,5433, and other characters than letters, digits and .-_~ with % and their code.")
    }
    if url.isFileURL {
      self = .file(url)
    } else if let kind = StoreKinds.server(at: url) {
      self = .server(url, kind)
    } else {
      throw StoreErrors.unknownServer(url: url, scheme: scheme)
    }
  }

  var isFile: Bool {
    if case .file = self { true } else { false }
  }

  var url: URL {
    switch self {
    case .file(let url), .server(let url, _): url
    }
  }

  /// Returns the type of a store on a server, and its size there in bytes; nil for a file, which contains these itself.
  ///
  /// - Throws: the errors of the server.
  func serverFacts() throws -> (type: String, bytes: Int)? {
    guard case .server(let url, let kind) = self else { return nil }
    let type = try kind.metadataForPersistentStore(with: url)[NSStoreTypeKey] as? String
    return (type ?? "", try kind.size(at: url))
  }

  /// The name of the store in messages.
  var name: String { url.storeName }

  /// The path, or the URL without its password.
  var text: String { url.locationText }
}

/// A store that a command reads: a SQLite file, or a private copy of an XML or binary store or of one in a database
/// server.
struct LocatedStore {
  let address: StoreAddress
  /// The SQLite store to read.
  let file: URL

  /// The server that contains the rows missing from a copy; nil for a file.
  var rows: ServerRows? {
    guard case .server(let url, let kind) = address else { return nil }
    return ServerRows(of: url, kind)
  }
}

/// The private copies of stores made by a command. They are removed when the command ends.
final class PrivateCopies {
  private var copies: [ServerCopy] = []

  /// Copies a store from a server.
  ///
  /// - Parameters:
  ///   - model: the model to read it with; nil for its cached model.
  ///   - hasRows: false to copy only the metadata and the model.
  /// - Throws: `CommandFailure` if there is no store, or no model; the errors of the server and the file system.
  func copy(
    _ url: URL, _ kind: any ServerStore.Type, model: NSManagedObjectModel?, hasRows: Bool
  ) throws -> URL {
    let model = try model ?? Self.model(at: url, kind)
    let copy = try ServerCopy(
      of: url, metadata: kind.metadataForPersistentStore(with: url), model, configuration: nil)
    copies.append(copy)
    if hasRows { try copy.fill { try $0.openStore(kind, at: url) } }
    return copy.url
  }

  /// Copies an XML or binary store.
  ///
  /// - Parameters:
  ///   - summary: the facts available without a model.
  ///   - model: the model that it was written with.
  ///   - configuration: its configuration; nil for all entities.
  /// - Throws: 259 for rows that do not match the model; the errors of the file system.
  func copy(
    _ url: URL, _ summary: FileStoreSummary, _ model: NSManagedObjectModel, configuration: String?
  ) throws -> URL {
    let copy = try ServerCopy(of: url, metadata: summary.metadata, model, configuration: configuration)
    copies.append(copy)
    try copy.fill(fromFileAt: url, type: summary.type)
    return copy.url
  }

  /// Returns the cached model of a store on a server.
  static func model(at url: URL, _ kind: any ServerStore.Type) throws -> NSManagedObjectModel {
    guard try kind.hasStore(at: url) else {
      throw CommandFailure(.unreadableStore, "There is no store at \(url.locationText). Check the URL.")
    }
    if let model = try kind.carriedModel(at: url) { return model }
    throw CommandFailure(
      .unreadableStore,
      "\(url.storeName) contains no model. Name the one it was created with: --model MODEL.")
  }

  /// Returns an error that names the store on the server instead of its copy.
  func naming(_ error: any Error) -> any Error {
    for copy in copies {
      if let named = copy.named(error) { return named }
    }
    return error
  }

  func removeAll() {
    for copy in copies { copy.remove() }
    copies = []
  }
}

extension CommandInvocation {
  /// Returns what the metadata of the store STORE says about its version, without reading its rows.
  ///
  /// - Throws: the errors of `located(_:model:orOneOf:hasRows:)`.
  func signature(_ argument: String, orOneOf versions: String) throws -> StoreSignature {
    if case .file(let url) = try StoreAddress(argument), let summary = try FileStoreSummary(of: url) {
      return StoreSignature(summary, of: url)
    }
    return StoreSignature(try StoreReader(url: located(argument, orOneOf: versions, hasRows: false).file))
  }

  /// Locates the store given by an argument, and copies it if it is on a server, or an XML or binary store.
  ///
  /// - Parameters:
  ///   - argument: the value of the argument.
  ///   - path: the model for reading a store on a server, or an XML or binary store; nil for its own.
  ///   - versions: the model whose versions may have written a store without a cached model.
  ///   - hasRows: false if the command reads no rows of a store on a server.
  /// - Throws: the errors of `StoreAddress.init(_:)` and `PrivateCopies.copy(_:_:model:hasRows:)`.
  func located(
    _ argument: String, model path: String? = nil, orOneOf versions: String? = nil, hasRows: Bool = true
  ) throws -> LocatedStore {
    let address = try StoreAddress(argument)
    switch address {
    case .file(let url):
      guard let summary = try FileStoreSummary(of: url) else { return LocatedStore(address: address, file: url) }
      let version = try fileModel(path ?? versions, of: url, summary)
      let copy = try copies.copy(url, summary, version.model, configuration: version.configuration)
      return LocatedStore(address: address, file: copy)
    case .server(let url, let kind):
      // A damaged model is treated like a missing one.
      let isBare = try path == nil && kind.hasStore(at: url) && (try? kind.carriedModel(at: url)) == nil
      let model = try (path ?? (isBare ? versions : nil)).map { try serverModel($0, url, kind) }
      return LocatedStore(address: address, file: try copies.copy(url, kind, model: model, hasRows: hasRows))
    }
  }

  /// Plans the migration of a store, whose rows are counted in place.
  ///
  /// - Parameters:
  ///   - argument: the value of the argument that names the store.
  ///   - version: the destination version.
  /// - Returns: the store, or a private copy without rows, and the plan.
  /// - Throws: the errors of `MigrationPlan` and `located(_:model:orOneOf:hasRows:)`.
  func plan(
    _ argument: String, known: ModelVersions, version: String, _ allowances: FindingAllowances
  ) throws -> MigrationPlan {
    try repeatingIfMigrated {
      let store = try located(argument, orOneOf: arguments.argument("MODEL"), hasRows: false)
      return try plan(store, known: known, version: version, allowances)
    }
  }

  /// Repeats a body if another process migrates a store on a server while the body runs.
  ///
  /// - Throws: `CommandFailure` if that happens repeatedly.
  func repeatingIfMigrated<Result>(_ body: () throws -> Result) throws -> Result {
    for _ in 0..<5 {
      do {
        return try body()
      } catch is ServerRows.Changed {
        continue
      }
    }
    throw CommandFailure(
      .unreadableStore,
      "The store is being migrated by other processes. Run the command again "
        + "later.")
  }

  /// Plans the migration of a located store.
  func plan(
    _ store: LocatedStore, known: ModelVersions, version: String, _ allowances: FindingAllowances
  ) throws -> MigrationPlan {
    try MigrationPlan(
      storeAt: store.file, rowsIn: store.rows, known: known, version: version, mappings: mappings,
      allowances: allowances)
  }

  /// Returns the model to read a store on a server with: the version given by `--model`, or the cached one.
  func chosenModel(_ url: URL, _ kind: any ServerStore.Type) throws -> NSManagedObjectModel {
    try arguments.value("model").map { try serverModel($0, url, kind) } ?? PrivateCopies.model(at: url, kind)
  }

  /// Returns the version of a model that wrote a store on a server.
  ///
  /// - Throws: `CommandFailure` if none did.
  func serverModel(_ path: String, _ url: URL, _ kind: any ServerStore.Type) throws -> NSManagedObjectModel {
    let metadata = try kind.metadataForPersistentStore(with: url)
    return try withModel(path) { model in
      for name in model.names {
        let version = try NSManagedObjectModel(document: model.version(name).document)
        if version.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { return version }
      }
      throw CommandFailure(.unreadableStore, "No version of \(model.name) wrote \(url.storeName).")
    }
  }

  /// Returns the path given by an argument.
  ///
  /// - Throws: `CommandFailure` for the URL of a server.
  func file(_ name: String) throws -> URL {
    switch try StoreAddress(arguments.argument(name)) {
    case .file(let url): return url
    case .server(let url, _):
      let command = arguments.specification.path.joined(separator: " ")
      throw CommandFailure(.usage, "\(command) works on files, and \(url.locationText) is in a database server.")
    }
  }
}
