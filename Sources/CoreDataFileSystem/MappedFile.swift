// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Maps large files into memory instead of reading them.
enum MappedFile {
  /// The size in bytes from which a file is mapped. Reading a smaller one takes hardly longer.
  private static let smallest = 64 << 10
  /// The maximum number of files mapped at once. Linux allows a process 65,530 mappings, and the allocator needs some.
  private static let limit = 32_768
  private static let count = Atomic<Int>(0)

  /// Maps an open file. The mapping lasts as long as the data, even if the file is removed.
  ///
  /// - Parameter size: The size of the file in bytes.
  /// - Returns: nil if the file is small or cannot be mapped.
  static func data(_ descriptor: Int32, size: Int) -> Data? {
    guard size >= smallest else { return nil }
    // Uniquely referenced `Data` is mutated in place. MAP_PRIVATE keeps such changes out of the file.
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
