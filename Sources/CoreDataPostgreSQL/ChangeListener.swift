// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

/// Listens for the notifications that every transaction of a store sends, on its own thread and connection, so that
/// `NSPersistentStoreRemoteChange` can be posted.
final class ChangeListener: @unchecked Sendable {
  /// The seconds to wait for notifications before checking whether the store was closed.
  private static let wait = 0.5
  /// The seconds to wait before reconnecting after the connection was lost.
  private static let pause = 1.0

  private let isEnded = Guarded(false)

  /// Connects and starts listening.
  ///
  /// - Parameter changed: Called on the listener's thread after any transaction on the store, and after reconnecting.
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
          // The store encounters the same error and reports it. The listener reconnects.
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

  /// Stops the thread.
  func end() { isEnded.value = true }

  private static func channel(_ schema: String) -> String {
    // Channel names belong to the database and have the same length limit as table names. Schemas with a long common
    // prefix share a channel and receive superfluous notifications.
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
  /// Starts listening for changes if an option asks for it.
  ///
  /// If that fails, prints a message on standard error; the store stays open.
  func listen(_ settings: StoreOptions, _ address: PostgreSQLAddress) {
    guard settings.postsRemoteChanges else { return }
    do {
      listener = try ChangeListener(address) { [weak self] in
        if let self { RemoteChanges.didChange(self) }
      }
    } catch {
      FileHandle.standardError.write(
        Data(
          "CoreData: Changes by other processes to the store '\(url?.locationText ?? "")' are not noticed: \(error)\n"
            .utf8)
      )
    }
  }
}
