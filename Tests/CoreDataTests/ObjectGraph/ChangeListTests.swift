// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Lists of changed objects")
struct ChangeListTests {
  @Test("The objects of some entities are those of the whole list, in its order", arguments: 0..<4)
  func entities(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let context = try TemporaryStore().context(CompanyModel.make())
    let names = ["Task", "Project", "Contract"]
    let objects = (0..<300).map { context.make(names[$0 % 3]) }
    context.changed.removeAll()
    var list = ChangeList()
    for step in 0..<2_000 {
      let object = objects[Int.random(in: 0..<objects.count, using: &random)]
      // Lists that grow, and lists that shrink until they are compacted.
      if Int.random(in: 0..<10, using: &random) < (step / 500 % 2 == 0 ? 7 : 2) {
        list.add(object)
      } else {
        list.remove(object)
      }
      guard step % 37 == 0 else { continue }
      let wanted = Set(names.filter { _ in Bool.random(using: &random) })
      let found = list.objectsOfEntities { wanted.contains($0.name ?? "") }
      #expect(found == list.objects.filter { wanted.contains($0.entity.name ?? "") }, "step \(step)")
    }
    list.removeAll()
    #expect(list.objectsOfEntities { _ in true } == [])
  }
}
