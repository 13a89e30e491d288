// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

/// Waits, on a thread and a connection of its own, for the notifications that every transaction of a store sends, and has
/// the coordinator post `NSPersistentStoreRemoteChange`.
final class ChangeListener: @unchecked Sendable {
  /// How long the thread waits before it looks whether the store has been closed, in seconds.
  private static let wait = 0.5
  /// How long it waits after a lost connection, in seconds.
  private static let pause = 1.0

  private let isEnded = Guarded(false)

  /// - Parameter changed: called on the listener's thread after a change by anybody, and after a time without a connection.
  init(_ address: PostgreSQLAddress, changed: @escaping @Sendable () -> Void) throws {
    let first = try Self.listening(address)
    let thread = Thread { [self] in
      var connection: PostgreSQLConnection? = first
      while !isEnded.value {
        do {
          guard let open = connection else {
            connection = try Self.listening(address)
            changed()
            continue
          }
          if try !open.notifications(waitingUpTo: Self.wait).isEmpty { changed() }
        } catch {
          // The store meets the same error, and reports it; the listener connects again.
          connection?.close()
          connection = nil
          Thread.sleep(forTimeInterval: Self.pause)
        }
      }
      connection?.close()
    }
    thread.name = "NSPersistentStoreRemoteChange"
    thread.start()
  }

  private static func listening(_ address: PostgreSQLAddress) throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(address, applicationName: ProcessInfo.processInfo.processName)
    do {
      try connection.listen(channel(address.schema))
      return connection
    } catch {
      connection.close()
      throw error
    }
  }

  /// Ends the thread.
  func end() { isEnded.value = true }

  private static func channel(_ schema: String) -> String {
    // A channel is named like a table, and belongs to the database. Schemas whose long names begin alike share one, which
    // costs them a needless look.
    var name = ""
    for scalar in "coredata_\(schema)".unicodeScalars
    where name.utf8.count + UTF8.width(scalar) <= PostgreSQLAddress.nameLimit {
      name.unicodeScalars.append(scalar)
    }
    return name
  }

  /// Notifies all listeners once the transaction is committed.
  static func notify(_ connection: PostgreSQLConnection, schema: String) throws {
    _ = try connection.query("SELECT pg_notify($1, '')", [.text(channel(schema))])
  }
}

extension PostgreSQLStore {
  /// Begins to listen for changes, if an option asks for it.
  ///
  /// If that is impossible, a message says so, and the store is open all the same.
  func listen(_ settings: StoreOptions, _ address: PostgreSQLAddress) {
    guard settings.postsRemoteChanges else { return }
    do {
      listener = try ChangeListener(address) { [weak self] in
        if let self { RemoteChanges.didChange(self) }
      }
    } catch {
      FileHandle.standardError.write(
        Data("CoreData: Changes by other processes to the store '\(url?.place ?? "")' are not noticed: \(error)\n".utf8)
      )
    }
  }
}
