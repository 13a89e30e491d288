// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Testing

@testable import CoreData

@Suite("Addresses by key")
struct ObjectTableTests {
  private func address(_ number: Int) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: number * 16) }

  @Test("The table knows what a dictionary knows, whatever is put in, replaced and taken out", arguments: 1...20)
  func asDictionary(_ round: Int) throws {
    var random = SeededGenerator(seed: UInt64(round))
    var table = ObjectTable()
    var model: [ObjectKey: UnsafeMutableRawPointer] = [:]
    // Keys that lie together, and multiples of what a careless hash would fold onto each other.
    let keys = (0..<400).map { (index: Int) -> ObjectKey in
      let number = index % 5 == 0 ? index << 20 : index / 2
      return ObjectKey(store: UInt32(index % 2), root: UInt32(index % 3), number: Int64(number))
    }
    for step in 1...4_000 {
      let key = keys[Int.random(in: keys.indices, using: &random)]
      // The table grows and shrinks in turn.
      if Int.random(in: 0..<10, using: &random) < (step / 500 % 2 == 0 ? 7 : 2) {
        let address = try #require(self.address(step))
        table.insert(address, for: key)
        model[key] = address
      } else {
        table.remove(key)
        model[key] = nil
      }
      #expect(table.count == model.count)
      if step % 250 == 0 {
        for key in keys { #expect(table[key] == model[key]) }
        #expect(Set(table.addresses) == Set(model.values))
      }
    }
    table.removeAll()
    #expect(table.count == 0 && table.addresses.isEmpty)
  }
}
