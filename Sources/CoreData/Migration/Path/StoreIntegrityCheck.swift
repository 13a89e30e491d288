// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration

/// When a migration has SQLite check the pages of the store (`PRAGMA quick_check`) before it commits anything. An
/// addition to Apple's API.
///
/// In a corrupt file, a page that SQLite considers free can contain rows, which writing to the page loses without an
/// error. The check reads the whole file: 1.5 seconds for a store of 1,000,000 rows and 197 MB. For a large store with
/// a write-ahead log, it runs concurrently with the migration, which is rolled back if corruption is found.
public enum StoreIntegrityCheck: String, Sendable {
  /// Runs the check unless it would take longer than the migration: if rows are moved or changed, if the file has free
  /// pages that the migration would use, or if it is smaller than 32 MB. A large store that only gets new columns is
  /// not checked.
  case automatic
  /// Runs the check before every migration.
  case always
  /// Never runs the check. A migration of a damaged store may lose rows without an error.
  case never

  /// The corresponding policy of `CoreDataMigration`.
  package var policy: IntegrityGuard.Policy {
    switch self {
    case .automatic: .automatic
    case .always: .always
    case .never: .never
    }
  }
}
