// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch

extension Array where Element: Sendable {
  /// The results of a function for all elements, computed on all processors.
  ///
  /// - Throws: what the function throws for the first element for which it throws.
  package func concurrentMap<Value: Sendable, Failure: Error>(
    _ transform: @Sendable (Element) throws(Failure) -> Value
  ) throws(Failure) -> [Value] {
    var results = [Result<Value, Failure>?](repeating: nil, count: count)
    results.withUnsafeMutableBufferPointer { buffer in
      nonisolated(unsafe) let buffer = buffer
      DispatchQueue.concurrentPerform(iterations: count) { position in
        do throws(Failure) {
          buffer[position] = .success(try transform(self[position]))
        } catch {
          buffer[position] = .failure(error)
        }
      }
    }
    var values: [Value] = []
    for case let result? in results { values.append(try result.get()) }
    return values
  }
}
