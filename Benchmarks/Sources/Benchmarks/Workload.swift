// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Work done by the library, and the same work written by hand over SQLite's C interface; for SwiftData, with Core Data.
struct Workload: Sendable {
  /// The store that a workload starts with. Every measurement gets its own copy.
  enum Start: Hashable, Sendable {
    /// Notes, attachments and tags.
    case notes
    /// Notes and attachments.
    case plain
    /// A store without rows.
    case empty
    /// A store without rows that is one version behind a model of many.
    case versionBehind
    /// A store without rows that is a hundred versions behind.
    case versionsBehind
    /// A store without rows of the first version of a large model.
    case sized(SizedModel)
  }

  /// Who does the work.
  enum Side: String, Sendable, CaseIterable {
    case library
    case byHand
  }

  let name: String
  let start: Start
  /// The ratio that the project has set itself; none where it has not.
  var limit: Double?
  /// The seconds that the project has set itself as a limit; none where it has not.
  var secondsLimit: Double?
  /// Whether it is measured only if `--only` names it.
  var isOnDemand = false
  /// A workload whose time is taken off the library's before the ratio: the fixed cost of opening a store.
  var fixedCost: String?
  let library: @Sendable (Place) throws -> Measurement
  let byHand: @Sendable (Place) throws -> Measurement

  /// Where a measurement works, and on how much.
  struct Place {
    let store: URL
    let noteCount: Int
    /// Whether Core Data notes the changes in the store's history, as SwiftData does.
    var tracksHistory = false

    /// A second store, beside the first.
    var destination: URL { store.deletingLastPathComponent().appendingPathComponent("destination.sqlite") }

    /// Where the workloads of a run find what none of them changes.
    var shared: URL { store.deletingLastPathComponent().deletingLastPathComponent() }
  }

  static let all =
    InPlaceWorkloads.all + CopyWorkloads.all + ObjectWorkloads.all + RelationshipWorkloads.all + SwiftDataWorkloads.all
    + VersionWorkloads.all + SizeWorkloads.all + PostgreSQLWorkloads.all

  static func named(_ name: String) -> Workload? { all.first { $0.name == name } }
}
