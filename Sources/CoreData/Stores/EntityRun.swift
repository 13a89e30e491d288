// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Consecutive objects of one entity. New objects usually come in such runs.
package struct EntityRun {
  package let entity: NSEntityDescription
  package private(set) var count: Int

  package static func runs(of entities: some Sequence<NSEntityDescription>) -> [EntityRun] {
    var runs: [EntityRun] = []
    var last: NSEntityDescription?
    for entity in entities {
      if entity !== last { runs.append(EntityRun(entity: entity, count: 0)) }
      last = entity
      runs[runs.count - 1].count += 1
    }
    return runs
  }
}
