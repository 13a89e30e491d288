// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Associations of a migration")
struct AssociationTests {
  private func row(_ number: Int64, _ entity: Int32 = 1) -> RowKey { RowKey(entity: entity, number: number) }

  private func made(_ table: AssociationTable, _ number: Int64, _ entity: Int32 = 1) -> [Int64] {
    table.destinations(of: row(number, entity)) { _ in true }.map(\.number)
  }

  @Test("Store nothing per object in the ordinary case, gaps in the keys included")
  func ordinary() {
    let table = AssociationTable(source: 1, destination: 2)
    var previous: Int64?
    for number in stride(from: Int64(1), through: 30_000, by: 3) {
      table.add(row(number), row(number + 100, 2), after: previous)
      previous = number
    }
    #expect(table.storedCount == 1)
    #expect(made(table, 3001) == [3101])
    #expect(made(table, 30_001).isEmpty)
    #expect(table.sources(of: row(3101, 2)) == [row(3001)])
    #expect(table.destinationSpans == [RowSpan(entity: 2, keys: 101...30_098)])
  }

  @Test("Know which sources were left out")
  func leftOut() {
    let table = AssociationTable(source: 1, destination: 2)
    for number in Int64(1)...100 where number % 10 != 0 {
      // The object before is the one that was read, whether or not anything was made of it.
      table.add(row(number), row(number, 2), after: number - 1)
    }
    #expect(table.storedCount == 10)
    #expect(made(table, 10).isEmpty)
    #expect(made(table, 11) == [11])
    #expect(table.sources(of: row(20, 2)).isEmpty)
  }

  @Test("Ask the destination where a condition left sources out")
  func partial() {
    let table = AssociationTable(source: 1, destination: 2)
    table.addAll(1...100, offset: 50, isPartial: true)
    #expect(table.destinations(of: row(7)) { $0.number == 57 } == [row(57, 2)])
    #expect(table.destinations(of: row(8)) { $0.number == 57 }.isEmpty)
    #expect(table.sources(of: row(57, 2)) == [row(7)])
  }

  @Test("Agree with plain dictionaries, whatever is associated", arguments: (1...20).map { UInt64($0) })
  func random(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let table = AssociationTable(source: 1, destination: 2)
    var forward: [RowKey: Set<RowKey>] = [:]
    var backward: [RowKey: Set<RowKey>] = [:]
    for step in 0..<1500 {
      let isOrdinary = Int.random(in: 1...5, using: &generator) > 1
      let source = row(
        Int64(isOrdinary ? step + 1 : Int.random(in: 1...400, using: &generator)),
        Int.random(in: 1...30, using: &generator) == 1 ? 5 : 1)
      let destination = row(
        isOrdinary
          ? source.number
            + Int64(Int.random(in: 1...10, using: &generator) == 1 ? Int.random(in: 1...50, using: &generator) : 10)
          : Int64(Int.random(in: 1...400, using: &generator)),
        Int.random(in: 1...30, using: &generator) == 1 ? 6 : 2)
      table.add(source, destination)
      forward[source, default: []].insert(destination)
      backward[destination, default: []].insert(source)
      if step % 100 == 0 {
        #expect(Set(table.destinations(of: source) { _ in true }) == forward[source])
        #expect(Set(table.sources(of: destination)) == backward[destination])
      }
    }
    for number in Int64(0)...1600 {
      for entity in [Int32(1), 5] {
        let found = table.destinations(of: row(number, entity)) { _ in true }
        #expect(Set(found) == forward[row(number, entity)] ?? [])
        #expect(Set(found).count == found.count)
      }
      for entity in [Int32(2), 6] {
        #expect(Set(table.sources(of: row(number, entity))) == backward[row(number, entity)] ?? [])
      }
    }
    let spanned = table.destinationSpans.flatMap { span in span.keys.map { row($0, span.entity) } }
    #expect(Set(spanned) == Set(backward.keys))
    #expect(spanned.count == backward.count)
    #expect(Set(table.sourceSpans.flatMap { span in span.keys.map { row($0, span.entity) } }) == Set(forward.keys))
  }

  @Test("Keep keys where they can, and never give one twice")
  func reservations() {
    var keys = KeyReservations()
    let first = keys.reserve(1...100, of: .init(entity: 1, root: 1), for: .init(entity: 4, root: 4), inUse: 0)
    #expect(first?.offset == 0 && first?.last == 100)
    // Another entity of the same table into another entity: its keys are others already.
    let sibling = keys.reserve(1...100, of: .init(entity: 2, root: 1), for: .init(entity: 5, root: 4), inUse: 0)
    #expect(sibling?.offset == 0)
    // The same entity once more, and another table: beyond what is reserved.
    let again = keys.reserve(1...100, of: .init(entity: 1, root: 1), for: .init(entity: 5, root: 4), inUse: 0)
    #expect(again?.offset == 100 && again?.last == 200)
    let other = keys.reserve(50...60, of: .init(entity: 3, root: 3), for: .init(entity: 4, root: 4), inUse: 0)
    #expect(other?.offset == 200 && other?.last == 260)
    // A destination in use, and keys that are not positive.
    let used = keys.reserve(-3...7, of: .init(entity: 1, root: 1), for: .init(entity: 9, root: 9), inUse: 40)
    #expect(used?.offset == 44 && used?.last == 51)
    #expect(keys.reserve(1...Int64.max, of: .init(entity: 1, root: 1), for: .init(entity: 8, root: 8), inUse: 4) == nil)
  }
}
