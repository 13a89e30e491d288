// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import CoreDataMistakes
import Foundation

/// The store classes by type.
package enum StoreKinds {
  private static let own: [String: NSPersistentStore.Type] = [
    NSSQLiteStoreType: SQLiteStore.self, NSXMLStoreType: XMLStore.self, NSBinaryStoreType: BinaryStore.self,
    NSInMemoryStoreType: InMemoryStore.self,
  ]
  private static let lock = NSLock()
  private nonisolated(unsafe) static var registered = own
  private nonisolated(unsafe) static var servers: [any ServerStore.Type] = []

  /// Registers the stores of linked targets that provide stores of their own.
  private static let linked: Void = CoreDataRegisterLinkedStores()

  package static var all: [String: NSPersistentStore.Type] {
    linked
    return lock.withLock { registered }
  }

  /// Registers a class of stores in a database server.
  package static func register(server kind: any ServerStore.Type, for type: String) {
    lock.withLock {
      registered[type] = kind
      if !servers.contains(where: { $0 == kind }) { servers.append(kind) }
    }
  }

  /// Returns the class of the store at a server location; nil for other locations.
  package static func server(at url: URL?) -> (any ServerStore.Type)? {
    guard let scheme = url?.scheme?.lowercased(), scheme != "file" else { return nil }
    linked
    return lock.withLock { servers.first { $0.schemes.contains(scheme) } }
  }

  /// Returns the class of a store type.
  ///
  /// - Throws: 134000 for an unknown type.
  package static func kind(of type: String) throws -> NSPersistentStore.Type {
    let known = all
    if let kind = known[type] { return kind }
    throw StoreErrors.invalidType(type, known: known.keys.sorted())
  }

  /// Returns the class of a store: that of a server at a URL of its scheme, unless another type is named.
  ///
  /// - Throws: 134000 for an unknown type; 134080 for a server location whose scheme no linked target supports.
  package static func kind(of type: String, at url: URL?) throws -> NSPersistentStore.Type {
    guard type == NSSQLiteStoreType, let url, !url.isFileURL, let scheme = url.scheme else { return try kind(of: type) }
    if let server = server(at: url) { return server }
    throw StoreErrors.unknownServer(url: url, scheme: scheme)
  }

  /// Registers a class, or removes the registered one.
  package static func register(_ kind: NSPersistentStore.Type?, for type: String) {
    lock.withLock { registered[type] = kind ?? own[type] }
  }

  /// Returns the type that a class is registered for, the first of several; nil if there is none.
  package static func type(of kind: NSPersistentStore.Type) -> String? {
    all.filter { $0.value == kind }.keys.min()
  }

  /// Returns whether a class is one of the framework's own.
  package static func isOwn(_ kind: NSPersistentStore.Type) -> Bool {
    if case .program = StoreMedium(of: kind) { false } else { true }
  }

  /// Returns whether stores of a class are files.
  package static func needsFile(_ kind: NSPersistentStore.Type) -> Bool {
    switch StoreMedium(of: kind) {
    case .database, .file: true
    case .server, .memory, .program: false
    }
  }
}

/// Where the stores of a class keep their rows, which decides how they are opened and migrated.
enum StoreMedium {
  /// In a SQLite database.
  case database
  /// In a file that is read and written as a whole.
  case file(FileStore.Type)
  case server(any ServerStore.Type)
  case memory
  /// Where a class of the program keeps them.
  case program

  init(of kind: NSPersistentStore.Type) {
    if let server = kind as? any ServerStore.Type {
      self = .server(server)
    } else if kind == SQLiteStore.self {
      self = .database
    } else if let file = kind as? FileStore.Type {
      self = .file(file)
    } else {
      self = kind == InMemoryStore.self ? .memory : .program
    }
  }
}

extension NSPersistentStore {
  /// Returns whether a store exists at a location and can be opened rather than created.
  ///
  /// - Throws: the errors of a server.
  static func isPresent(at url: URL) throws -> Bool {
    try (self as? any ServerStore.Type)?.hasStore(at: url) ?? hasContents(at: url)
  }
}
