// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How far a migration is: objects done over objects counted in each pass.
struct RunProgress {
  /// The passes, with the part of the whole that each begins and ends with.
  enum Pass {
    case creation
    case relationships
    case validation

    fileprivate var part: (start: Double, end: Double) {
      switch self {
      case .creation: (0, 0.55)
      case .relationships: (0.55, 0.95)
      case .validation: (0.95, 1)
      }
    }
  }

  private unowned let manager: NSMigrationManager
  private var pass = Pass.creation
  private var done = 0
  private var mappingCount = 0
  private var objectCount = 0

  init(manager: NSMigrationManager) {
    self.manager = manager
  }

  /// Counts the objects that there are to be read.
  mutating func count(_ plans: [ResolvedMapping], in source: MigrationStack) throws {
    mappingCount = plans.count
    for plan in plans {
      guard let entity = plan.sourceEntity else { continue }
      switch plan.sources {
      case .none: continue
      case .all, .request, .collection:
        // What a filter leaves out makes progress faster than foreseen, and never go back.
        objectCount += try source.store.count(for: RowQuery(entity: entity, includesSubentities: false)) ?? 0
      }
    }
  }

  mutating func begin(_ pass: Pass) {
    self.pass = pass
    done = 0
    show(0)
  }

  mutating func didObjects(_ count: Int) {
    done += count
    show(Double(done) / Double(max(objectCount, 1)))
  }

  mutating func didMapping() {
    done += 1
    show(Double(done) / Double(mappingCount + 1))
  }

  private func show(_ fraction: Double) {
    let (start, end) = pass.part
    manager.show(progress: Float(start + (end - start) * min(fraction, 1)))
  }
}
