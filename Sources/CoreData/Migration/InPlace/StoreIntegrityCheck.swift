// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration

/// When a migration has SQLite check the pages of the store (`PRAGMA quick_check`) before it writes. An addition to Apple's
/// interface.
///
/// In a file whose pages contradict each other, a page that SQLite takes for free can hold rows: writing to it loses them,
/// without an error. The check reads the whole file. A store of 1,000,000 rows and 197 MB takes 1.5 seconds.
public enum StoreIntegrityCheck: String, Sendable {
  /// The check is made unless it would take longer than the migration: where rows are moved or changed, where the file has
  /// free pages that the migration would use, and where it has less than 32 MB. A large store that only gets new columns is
  /// not checked.
  case automatic
  /// The check is made before every migration.
  case always
  /// The check is never made: a migration of a damaged store may lose rows, and not notice it.
  case never
}

extension StoreIntegrityCheck {
  /// What the engine below does.
  var policy: IntegrityGuard.Policy {
    switch self {
    case .automatic: .automatic
    case .always: .always
    case .never: .never
    }
  }
}
