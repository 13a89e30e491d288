// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Arguments of a process as C strings.
enum CArguments {
  static func with<Result>(
    _ arguments: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws -> Result
  ) rethrows -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return try pointers.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { preconditionFailure("An array with an element has an address.") }
      return try body(base)
    }
  }
}
