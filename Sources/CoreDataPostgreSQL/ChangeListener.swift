// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// Option: the URL of the server for a store whose URL leads to a connection pooler, as a `URL` or a string. An addition
/// to Apple's API.
///
/// A store that posts `NSPersistentStoreRemoteChange` listens for changes on a connection of its own. Poolers that give
/// a connection to a client for a transaction do not pass notifications on. Without this option, a store behind a
/// pooler looks for changes twice a second, and also posts for changes to other stores of the server.
public let PostgreSQLListenURLOption = "PostgreSQLListenURLOption"

/// Listens for the notifications that every transaction of a store sends, on its own thread and connection, so that
/// `NSPersistentStoreRemoteChange` can be posted. Behind a connection pooler, looks for changes regularly.
final class ChangeListener: @unchecked Sendable {
  /// The seconds to wait for notifications before checking whether the store was closed, and between two looks for
  /// changes.
  private static let wait = 0.5
  /// The seconds to wait before reconnecting after the connection was lost.
  private static let pause = 1.0

  private let isEnded = Guarded(false)

  /// What the thread does with its connection.
  private enum Work {
    case listening(PostgreSQLConnection)
    /// Compares the transactions of the server that have ended with those at the last look.
    case looking(PostgreSQLConnection, last: String)

    var connection: PostgreSQLConnection {
      switch self {
      case .listening(let connection), .looking(let connection, _): connection
      }
    }
  }

  /// Connects and starts listening.
  ///
  /// - Parameters:
  ///   - server: The location of the server, if that of the store leads to a pooler.
  ///   - changed: Called on the listener's thread after any transaction on the store, and after reconnecting.
  /// - Throws: `PostgreSQLError`; a `Problem` with the location of the server.
  init(
    _ address: PostgreSQLAddress, at server: PostgreSQLAddress?, of store: String?,
    changed: @escaping @Sendable () -> Void
  ) throws {
    let first = try Self.begin(address, at: server, of: store)
    let thread = Thread { [self] in
      var work: Work? = first
      while !isEnded.value {
        do {
          switch work {
          case .listening(let connection):
            if try !connection.notifications(waitingUpTo: Self.wait).isEmpty { changed() }
          case .looking(let connection, let last):
            Thread.sleep(forTimeInterval: Self.wait)
            let found = try Self.endedTransactions(connection)
            if found != last { changed() }
            work = .looking(connection, last: found)
          case nil:
            work = try Self.begin(address, at: server, of: store)
            changed()
          }
        } catch {
          // The store encounters the same error and reports it. The listener reconnects.
          work?.connection.close()
          work = nil
          Thread.sleep(forTimeInterval: Self.pause)
        }
      }
      work?.connection.close()
    }
    thread.name = "NSPersistentStoreRemoteChange"
    thread.start()
  }

  /// The reason why the location of a server cannot be used to listen.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  private static func begin(
    _ address: PostgreSQLAddress, at server: PostgreSQLAddress?, of store: String?
  ) throws -> Work {
    let connection = try PostgreSQLConnection(
      server ?? address, applicationName: ProcessInfo.processInfo.processName)
    do {
      if let server {
        try check(connection, server, schema: address.schema, store)
      } else if connection.isPooled {
        return .looking(connection, last: try endedTransactions(connection))
      }
      try connection.listen(channel(address.schema))
      return .listening(connection)
    } catch {
      connection.close()
      throw error
    }
  }

  /// Makes sure that the server has the store, and can notify this process.
  private static func check(
    _ connection: PostgreSQLConnection, _ server: PostgreSQLAddress, schema: String, _ store: String?
  ) throws {
    guard !connection.isPooled else {
      throw Problem(
        description: "The URL of PostgreSQLListenURLOption ('\(server)') leads to a connection pooler. Use that of "
          + "the server itself, or omit the option.")
    }
    let sql = "SELECT 1 FROM \(PostgreSQLConnection.quoted(schema)).z_metadata WHERE z_uuid = $1"
    do {
      if try connection.query(sql, [.text(store ?? "")]).count > 0 { return }
    } catch let error as PostgreSQLError where error.isUndefinedTable {
      // The same problem: another database.
    }
    throw Problem(
      description:
        "The URL of PostgreSQLListenURLOption ('\(server)') leads to a database that does not have the store "
        + "in the schema '\(schema)'.")
  }

  /// Returns a text that changes whenever a transaction ends that has changed something.
  private static func endedTransactions(_ connection: PostgreSQLConnection) throws -> String {
    try connection.query("SELECT pg_current_snapshot()::text").string(0, 0)
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
  /// If that fails, prints a message on standard error, and the store opens without.
  ///
  /// - Parameter server: The location given by `PostgreSQLListenURLOption`.
  /// - Throws: 134080 if the store's changes can never be listened for at that location.
  func makeListener(
    _ settings: StoreOptions, _ address: PostgreSQLAddress, at server: PostgreSQLAddress?
  ) throws -> ChangeListener? {
    guard settings.postsRemoteChanges else { return nil }
    do {
      return try ChangeListener(address, at: server, of: keptMetadata[StoreMetadata.Key.uuid] as? String) {
        [weak self] in
        if let self { RemoteChanges.didChange(self) }
      }
    } catch let problem as ChangeListener.Problem {
      throw StoreErrors.cannotOpen(url: url, reason: problem.description)
    } catch {
      FileHandle.standardError.write(
        Data(
          "CoreData: Changes by other processes to the store '\(url?.locationText ?? "")' are not noticed: \(error)\n"
            .utf8)
      )
      return nil
    }
  }
}

extension StoreOptions {
  /// Returns the location given by `PostgreSQLListenURLOption`; nil if there is none.
  ///
  /// - Throws: 134080 if it is not the URL of a database.
  func listenAddress() throws -> PostgreSQLAddress? {
    guard let value = self[PostgreSQLListenURLOption] else { return nil }
    do {
      guard let text = (value as? URL)?.absoluteString ?? value as? String else {
        throw ChangeListener.Problem(description: "It is neither a URL nor a string.")
      }
      return try PostgreSQLAddress(text)
    } catch {
      throw StoreErrors.cannotOpen(url: nil, reason: "The option PostgreSQLListenURLOption cannot be used: \(error)")
    }
  }
}
