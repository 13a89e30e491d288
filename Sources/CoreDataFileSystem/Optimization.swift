// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The parts of the library that exist only for speed or memory.
///
/// In a build of the benchmarks, `COREDATA_WITHOUT="readAhead packedRows"` switches some of them off, so that the gain
/// of each can be measured. `Benchmarks/README.md` has the figures. Any other build has no switches.
package enum Optimization: String, CaseIterable, Sendable {
  /// Reads the pages of a database file in larger pieces than SQLite.
  case readAhead
  /// Keeps the rows of a fetch as bytes until they are used.
  case packedRows
  /// Reads and packs the rows of a large fetch on another thread.
  case backgroundRows
  /// Copies the write-ahead log into the database on another thread.
  case backgroundCheckpoints
  /// Checks the pages of a large store, and syncs it, on another thread.
  case backgroundChecks

  #if OPTIMIZATION_SWITCHES
  private static let off: Set<Optimization> = {
    let names = ProcessInfo.processInfo.environment["COREDATA_WITHOUT"] ?? ""
    return Set(
      names.split(separator: " ").map { name in
        guard let found = Optimization(rawValue: String(name)) else { trap("There is no optimization \(name).") }
        return found
      })
  }()

  /// Whether the optimization is used.
  package var isOn: Bool { !Self.off.contains(self) }
  #else
  /// Whether the optimization is used.
  @inlinable package var isOn: Bool { true }
  #endif
}
