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
      faultInjectionArm(folder.path, number, Int32(FaultKindOnce.rawValue), EPERM)
      var failure: (any Error)?
      do { try TortureCase.externalData.run(in: folder) } catch let caught { failure = caught }
      faultInjectionDisarm()
      let call = String(cString: faultInjectionCall())
      let isNew = try bench.check(folder, "call \(number), \(call)")
      if call.hasPrefix("link") {
        found += 1
        #expect(failure == nil && isNew, "call \(number), \(call)")
      }
      number -= 1
    }
    #expect(found == 4)
  }
  #endif
}
