// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs a body in threads, all at once, and waits for them. `DispatchQueue.concurrentPerform` has only as many as the machine has
/// processors, and runs the rest one after the other.
///
/// - Parameter body: gets the number of the thread, from 0 on.
package func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    Thread.detachNewThread {
      body(number)
      group.leave()
    }
  }
  group.wait()
}
