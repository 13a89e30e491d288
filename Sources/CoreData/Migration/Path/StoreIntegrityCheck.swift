// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration

/// When a migration has SQLite check the pages of the store (`PRAGMA quick_check`) before it commits anything. An addition
/// to Apple's interface.
///
/// In a corrupt file a page that SQLite considers free can hold rows, which writing to it loses without an error. The check
/// reads the whole file: 1.5 seconds for a store of 1,000,000 rows and 197 MB. In a large store with a write-ahead log that
/// happens beside the migration, which is taken back if something is found.
public enum StoreIntegrityCheck: String, Sendable {
  /// The check runs unless it would take longer than the migration: if rows are moved or changed, if the file has free pages
  /// that the migration would use, or if it has less than 32 MB. A large store that only gets new columns is not checked.
  case automatic
  /// The check runs before every migration.
  case always
  /// The check never runs. A migration of a damaged store may lose rows without an error.
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
