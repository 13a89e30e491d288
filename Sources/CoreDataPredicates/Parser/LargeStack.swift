// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs deep recursion on a thread with a large stack.
enum LargeStack {
  /// The number of levels for which the stack of any thread is large enough.
  static let depthWithout = 100
  /// The size of the stack in bytes. Unused pages take no memory.
  private static let size = 256 << 20

  /// Runs a body on a thread with a large stack and waits for it.
  ///
  /// - Returns: false if no thread could be created; the body was not run then.
  static func run(_ body: @escaping () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    guard pthread_attr_init(&attributes) == 0 else { return false }
    defer { pthread_attr_destroy(&attributes) }
    guard pthread_attr_setstacksize(&attributes, size) == 0 else { return false }
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(body))
    let status = pthread_create(
      &thread, &attributes,
      { argument in
        if let argument { Unmanaged<Work>.fromOpaque(argument).takeUnretainedValue().body() }
        return nil
      }, work.toOpaque())
    defer { work.release() }
    guard status == 0 else { return false }
    pthread_join(thread, nil)
    return true
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) {
      self.body = body
    }
  }
}
