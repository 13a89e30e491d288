// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The type name of stores in PostgreSQL. An addition to Apple's types.
public let NSPostgreSQLStoreType = "PostgreSQL"

extension NSPersistentStore.StoreType {
  /// A schema of a PostgreSQL database. An addition to Apple's types.
  ///
  /// The location is a URL: `postgresql://user@host/database?schema=app`. What it leaves out comes from where libpq finds it:
  /// `PGHOST` and the like, service files, password files. The option `schema` is `public` where it is left out; all others
  /// are those of libpq.
  public static let postgreSQL: NSPersistentStore.StoreType = {
    PostgreSQLStores.register()
    return NSPersistentStore.StoreType(rawValue: NSPostgreSQLStoreType)
  }()
}

/// Stores in PostgreSQL.
public enum PostgreSQLStores {
  private static let registration: Void = StoreKinds.register(server: PostgreSQLStore.self, for: NSPostgreSQLStoreType)

  /// Registers stores in PostgreSQL, so that a URL with the scheme `postgresql` is one.
  ///
  /// On Linux and other systems with ELF files nobody needs to call it: linking this target is enough.
  public static func register() { registration }
}

@_cdecl("CoreDataRegisterPostgreSQLStores")
func registerPostgreSQLStores() { PostgreSQLStores.register() }
