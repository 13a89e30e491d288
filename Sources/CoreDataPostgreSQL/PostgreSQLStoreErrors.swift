// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// The user info key of PostgreSQL's SQLSTATE code (five characters). An addition to Apple's keys.
public let PostgreSQLStateErrorKey = "PostgreSQLState"

extension PostgreSQLError: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    PostgreSQLErrors.error(self, url: context.url, isOpening: context.work == .opening)
  }
}

/// Cocoa errors for failures of PostgreSQL.
enum PostgreSQLErrors {
  private struct Kind {
    var code: Int
    var description: String
    var suggestion: String
  }

  fileprivate static func error(_ failure: PostgreSQLError, url: URL?, isOpening: Bool) -> NSError {
    var info: [String: Any] = [:]
    info[PostgreSQLStateErrorKey] = failure.sqlState
    info[ErrorDetail.url] = url
    let kind = kind(of: failure, isOpening: isOpening)
    let place = url.map { " The store is '\($0.locationText)'." } ?? ""
    let end = ".?!".contains(failure.description.last ?? " ") ? "" : "."
    return NSError.cocoa(
      kind.code, kind.description, reason: "PostgreSQL: \(failure.description)\(end)\(place)",
      suggestion: kind.suggestion, underlying: failure, info)
  }

  private static func kind(of failure: PostgreSQLError, isOpening: Bool) -> Kind {
    if failure.isCommitUnknown {
      return Kind(
        code: NSPersistentStoreSaveError, description: "It is not known whether the changes were saved.",
        suggestion: isOpening
          ? "Open the store again: it has all of the changes, or none of them."
          : "A context keeps its changes. Its next save() asks the server first, and does not repeat what was saved. "
            + "Executing the same batch request again does so as well. To give the changes up, call rollback().")
    }
    if failure.needsPassword {
      return Kind(
        code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
        suggestion: "The server requires a password. Keep it in ~/.pgpass, in a service file (?service=NAME), or in "
          + "PGPASSWORD.")
    }
    if failure.isConnectionLost {
      return isOpening
        ? Kind(
          code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
          suggestion: "Check that the server runs, and that host, port, database, user and password are right.")
        : Kind(
          code: NSPersistentStoreOperationError, description: "The connection to the persistent store was lost.",
          suggestion:
            "Uncommitted changes were rolled back. Try again; the store connects by itself when the server is back.")
    }
    if failure.isUniqueViolation {
      return Kind(
        code: NSManagedObjectConstraintMergeError, description: "A uniqueness constraint is violated.",
        suggestion: "Change the values, or delete one of the objects.")
    }
    if failure.isForeignKeyViolation {
      return Kind(
        code: NSManagedObjectReferentialIntegrityError,
        description: "An object of a relationship is not in the store.",
        suggestion: "Another process has deleted it. Refresh the objects, and set the relationship again.")
    }
    if failure.isNotNullViolation {
      return Kind(
        code: NSValidationMissingMandatoryPropertyError, description: "A required value is missing.",
        suggestion: "Set the value. If the model allows objects without it, check the store with coredata store verify."
      )
    }
    if failure.isSerializationFailure || failure.isDeadlock {
      return Kind(
        code: NSPersistentStoreTimeoutError,
        description: "Other transactions were changing the same rows of the "
          + "store.",
        suggestion: "Nothing was changed. Try again.")
    }
    if failure.isLockTimeout {
      return Kind(
        code: NSPersistentStoreTimeoutError, description: "The persistent store is in use.",
        suggestion: "Nothing was changed. Close other programs that use the store, or try again later.")
    }
    if failure.isCancelled {
      return Kind(
        code: CocoaError.Code.userCancelled.rawValue, description: "The operation was cancelled.",
        suggestion: "Nothing was changed. Execute it again, or set a longer statement_timeout.")
    }
    if failure.isDiskFull {
      return Kind(
        code: CocoaError.Code.fileWriteOutOfSpace.rawValue,
        description: "There is no space left for the persistent store.",
        suggestion: "Free some space on the server's disk and try again; nothing was changed.")
    }
    if failure.isReadOnly {
      return Kind(
        code: CocoaError.Code.fileWriteNoPermission.rawValue,
        description: "The persistent store cannot be written.",
        suggestion: "The server is a standby, or the role may only read. Connect to the primary server.")
    }
    if failure.isPrivilege {
      return Kind(
        code: CocoaError.Code.fileWriteNoPermission.rawValue,
        description: "The role of the connection lacks a privilege.",
        suggestion: "Grant the privilege to the role, or let a role that owns the tables do this; nothing was changed.")
    }
    if failure.isUndefinedTable || failure.isUndefinedColumn {
      return Kind(
        code: NSPersistentStoreIncompatibleSchemaError,
        description: "The store's tables do not match the model.",
        suggestion: "Someone has changed the tables. Restore what is missing, or restore the database from a backup.")
    }
    if isOpening {
      return Kind(
        code: NSPersistentStoreOpenError, description: "The persistent store could not be opened.",
        suggestion: "Check the URL of the store, the server and the privileges of the role.")
    }
    return Kind(
      code: NSPersistentStoreOperationError, description: "The persistent store failed.",
      suggestion: "See PostgreSQL's message in the reason. Nothing was changed.")
  }
}

/// The errors of stores in PostgreSQL.
enum PostgreSQLStoreErrors {
  /// 260: there is no store in the schema.
  static func noStore(url: URL?, schema: String) -> NSError {
    var info: [String: Any] = [:]
    info[ErrorDetail.url] = url
    return .cocoa(
      CocoaError.Code.fileReadNoSuchFile.rawValue, "The persistent store could not be opened because there is none.",
      reason: "The schema '\(schema)' at '\(url?.locationText ?? "")' has no table z_metadata.",
      suggestion: "Check the parameter 'schema' of the URL, or create the store first.", info)
  }

  /// 513: the role lacks privileges on tables or sequences.
  ///
  /// - Parameter isReadable: Whether the privileges suffice for reading.
  static func missingPrivileges(url: URL?, _ problems: [ServerStoreProblem], isReadable: Bool) -> NSError {
    .cocoa(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The role of the connection lacks a privilege.",
      reason: list(problems.map(\.text)) + place(url),
      suggestion: list(problems.map(\.cure))
        + (isReadable
          ? " Or open the store read-only; or, if the role is not meant to change these tables, with "
            + "PostgreSQLMissingPrivilegesOption." : ""),
      info(url))
  }

  /// 134020: others have changed the tables of the store.
  ///
  /// - Parameter isReadable: Whether reading gives the right results.
  static func changedTables(url: URL?, _ problems: [ServerStoreProblem], isReadable: Bool) -> NSError {
    .cocoa(
      NSPersistentStoreIncompatibleSchemaError,
      "The persistent store was not opened, because others have changed its tables.",
      reason: list(problems.map(\.text)) + place(url),
      suggestion: "coredata store verify --repair URL restores what needs no guess."
        + (isReadable ? " Until then the store can be opened read-only." : ""), info(url))
  }

  private static func info(_ url: URL?) -> [String: Any] { url.map { [ErrorDetail.url: $0] } ?? [:] }

  private static func place(_ url: URL?) -> String { url.map { " The store is '\($0.locationText)'." } ?? "" }

  /// Returns the first of some sentences.
  private static func list(_ sentences: [String]) -> String {
    let shown = sentences.prefix(5).map { $0.hasSuffix(".") ? $0 : $0 + "." }
    let more = sentences.count - shown.count
    return (shown + (more > 0 ? ["There are \(more) more."] : [])).joined(separator: " ")
  }

  /// 513: the role may not use the schema of the store.
  static func noUsage(url: URL?, schema: String) -> NSError {
    var info: [String: Any] = [:]
    info[ErrorDetail.url] = url
    return .cocoa(
      CocoaError.Code.fileWriteNoPermission.rawValue, "The role of the connection lacks a privilege.",
      reason: "The role may not use the schema '\(schema)', which has the tables of the store.",
      suggestion: "Have its owner execute: GRANT USAGE ON SCHEMA \(PostgreSQLConnection.quoted(schema)) TO the role.",
      info)
  }

  /// 134070: the connection was lost within a transaction.
  static func connectionLost(url: URL?, during work: String) -> NSError {
    StoreErrors.operationFailed(url: url, reason: "The connection to the server ended during \(work).")
  }
}
