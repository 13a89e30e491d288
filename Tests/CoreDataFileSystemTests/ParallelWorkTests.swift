// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation
import Testing

@Suite("Work on a thread of its own", .timeLimit(.minutes(60)))
struct ParallelWorkTests {
  /// What the work uses: its end is noted without a lock, as that of a statement is.
  private final class Resource: @unchecked Sendable {
    private let didEnd: () -> Void
    let number = 7

    init(_ didEnd: @escaping () -> Void) { self.didEnd = didEnd }

    deinit { didEnd() }
  }

  @Test("Has let go of what it uses when the caller goes on")
  func release() throws {
    var (endings, rounds) = (0, 0)
    for _ in 0..<2_000 {
      let work = { () -> ParallelWork<Int> in
        let resource = Resource { endings += 1 }
        return ParallelWork { resource.number }
      }()
      #expect(try work.wait() == 7)
      rounds += 1
      try #require(endings == rounds)
    }
  }

  @Test("Values too: what makes them is let go of when they are stopped")
  func releaseOfValues() throws {
    var (endings, rounds) = (0, 0)
    for _ in 0..<2_000 {
      let values = { () -> ParallelValues<Int> in
        let resource = Resource { endings += 1 }
        var left = 3
        return ParallelValues(limit: 2) {
          left -= 1
          return left >= 0 ? resource.number : nil
        }
      }()
      while try values.next() != nil {}
      values.stop()
      rounds += 1
      try #require(endings == rounds)
    }
  }
}
