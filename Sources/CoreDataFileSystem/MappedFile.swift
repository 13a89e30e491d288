// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The contents of a file that are read when they are used.
enum MappedFile {
  /// The size from which a file is mapped, in bytes. A smaller one is read, which takes hardly longer.
  private static let smallest = 64 << 10
  /// How many files may be mapped at once. Linux allows a process 65,530 mappings, and memory needs some of them.
  private static let limit = 32_768
  private static let count = Atomic<Int>(0)

  /// Maps an open file, which stays mapped as long as the data are used, also if the file is removed.
  ///
  /// - Parameter size: the size of the file, in bytes.
  /// - Returns: nil for a small file, and if it cannot be mapped.
  static func data(_ descriptor: Int32, size: Int) -> Data? {
    guard size >= smallest else { return nil }
    // `Data` with one owner is changed in place; the file stays as it is.
    guard count.add(1, ordering: .relaxed).oldValue < limit,
      let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED
    else {
      count.subtract(1, ordering: .relaxed)
      return nil
    }
    return Data(
      bytesNoCopy: start, count: size,
      deallocator: .custom { start, size in
        munmap(start, size)
        count.subtract(1, ordering: .relaxed)
      })
  }
}
