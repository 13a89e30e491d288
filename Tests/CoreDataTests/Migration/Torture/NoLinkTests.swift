// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import FaultInjection
import Foundation
import Testing

@testable import CoreData

@Suite("File systems on which a file has one name only", .serialized)
struct NoLinkTests {
  #if os(Linux)
  @Test("Files are copied there, the replaced store under its lock too")
  func copies() throws {
    let bench = try TortureBench(.externalData)
    var (number, found) = (bench.callCount, 0)
    // The store and its three files of values, from the last call on.
    while found < 4, number > 0 {
      let folder = try bench.folder("one-name")
      let outcome = Faults.run(below: folder, call: number, FaultKindOnce, error: EPERM) {
        try TortureCase.externalData.run(in: folder)
      }
      let isNew = try bench.check(folder, "call \(number), \(outcome.call)")
      if outcome.call.hasPrefix("link") {
        found += 1
        #expect(outcome.failure == nil && isNew, "call \(number), \(outcome.call)")
      }
      number -= 1
    }
    #expect(found == 4)
  }
  #endif
}
