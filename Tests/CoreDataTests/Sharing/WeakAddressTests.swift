// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreData

@Suite("Weak references without a side table")
struct WeakAddressTests {
  private final class Owner: @unchecked Sendable {
    var onEnd: (() -> Void)?
    deinit { onEnd?() }
  }

  @Test("Give the object until it is deallocated, and nothing while that happens and afterwards")
  func lifetime() {
    var owner: Owner? = Owner()
    let reference = owner.map { WeakAddress($0) }
    #expect(reference?.object === owner)
    var isFoundAtEnd: Bool?
    owner?.onEnd = { isFoundAtEnd = reference?.object != nil }
    owner = nil
    #expect(isFoundAtEnd == false)
    #expect(reference?.object == nil)
    // Others may get the memory only when the reference is gone.
    let others = (0..<1_000).map { _ in Owner() }
    #expect(reference?.object == nil)
    withExtendedLifetime(others) {}
  }

  @Test("Can be shown when the object is gone")
  func mirror() {
    var owner: Owner? = Owner()
    let reference = owner.map { WeakAddress($0) }
    owner = nil
    var text = ""
    dump(reference, to: &text)
    #expect(text.contains("WeakAddress"))
  }

  @Test("Give the object or nothing while another thread deallocates it")
  func threads() {
    for _ in 0..<200 {
      let owner = Mutex<Owner?>(Owner())
      let reference = WeakAddress(owner.withLock { $0 ?? Owner() })
      let found = Guarded(0)
      inThreads(4) { number in
        if number == 0 {
          owner.withLock { $0 = nil }
        } else {
          for _ in 0..<20 where reference.object?.onEnd == nil { found.update { $0 += 1 } }
        }
      }
      #expect(reference.object == nil)
      #expect(found.value == 60)
    }
  }
}
