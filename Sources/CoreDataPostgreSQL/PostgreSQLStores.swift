// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The type name of stores in PostgreSQL. An addition to Apple's types.
public let NSPostgreSQLStoreType = "PostgreSQL"

/// Option: a Bool; a store in PostgreSQL is opened even if the role may not insert, update or delete rows of some of its
/// tables. Saves that need a missing privilege fail. An addition to Apple's options.
///
/// Without it, opening a store that is not read-only needs `SELECT`, `INSERT`, `UPDATE` and `DELETE` on all tables, and
/// `USAGE` on all sequences, so that a forgotten `GRANT` is found before the first save.
public let PostgreSQLMissingPrivilegesOption = "PostgreSQLMissingPrivilegesOption"

extension NSPersistentStore.StoreType {
  /// A schema of a PostgreSQL database. An addition to Apple's types.
  ///
  /// The location is a URL: `postgresql://user@host/database?schema=app`. libpq takes omitted parts from environment
  /// variables such as `PGHOST`, service files and password files. The parameter `schema` defaults to `public`; all
  /// other parameters are libpq's.
  public static let postgreSQL: NSPersistentStore.StoreType = {
    PostgreSQLStores.register()
    return NSPersistentStore.StoreType(rawValue: NSPostgreSQLStoreType)
  }()
}

/// Support for stores in PostgreSQL.
public enum PostgreSQLStores {
  private static let registration: Void = StoreKinds.register(server: PostgreSQLStore.self, for: NSPostgreSQLStoreType)

  /// Registers the store type, so that URLs with the scheme `postgresql` refer to stores.
  ///
  /// On Linux and other systems with ELF files, linking this target registers the type, and calling this is
  /// unnecessary.
  public static func register() { registration }
}

@_cdecl("CoreDataRegisterPostgreSQLStores")
func registerPostgreSQLStores() { PostgreSQLStores.register() }
