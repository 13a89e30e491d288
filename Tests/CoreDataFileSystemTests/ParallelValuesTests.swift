// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation
import Testing

@Suite("Values made on a thread of their own", .timeLimit(.minutes(60)))
struct ParallelValuesTests {
  private struct Failure: Error {}

  private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var made = 0

    var count: Int { lock.withLock { made } }

    func next() -> Int {
      lock.withLock {
        made += 1
        return made
      }
    }
  }

  @Test("All come in their order, and then nil, whatever the limit", arguments: [1, 2, 3, 8])
  func order(limit: Int) throws {
    let counter = Counter()
    let values = ParallelValues<Int>(limit: limit) { counter.count == 10_000 ? nil : counter.next() }
    var found: [Int] = []
    while let value = try values.next() { found.append(value) }
    #expect(found == Array(1...10_000))
    #expect(try values.next() == nil)
    values.stop()
  }

  @Test("What making one throws is thrown after those before, each time", arguments: [1, 8])
  func failure(limit: Int) throws {
    let counter = Counter()
    let values = ParallelValues<Int>(limit: limit) {
      if counter.count == 21 { throw Failure() }
      return counter.next()
    }
    for number in 1...21 { #expect(try values.next() == number) }
    #expect(throws: Failure.self) { try values.next() }
    #expect(throws: Failure.self) { try values.next() }
    values.stop()
  }

  @Test(
    "No more wait than the limit allows, and stopping ends the thread, whether it waits or works", arguments: [1, 4])
  func limits(limit: Int) throws {
    let counter = Counter()
    let values = ParallelValues<Int>(limit: limit) { counter.next() }
    #expect(try values.next() == 1)
    // It would never end. Those that wait, the one that was taken, and one that is made or waits for room.
    Thread.sleep(forTimeInterval: 0.05)
    #expect(counter.count <= limit + 2)
    values.stop()
    let count = counter.count
    Thread.sleep(forTimeInterval: 0.02)
    #expect(counter.count == count && count <= limit + 2)
  }
}
