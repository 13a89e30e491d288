// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Traps because of a programming error, with a message on standard error.
///
/// Release builds print the message too, unlike those of `precondition` and `preconditionFailure`.
///
/// - Parameter sentence: A sentence that says what the error is, with names, and what to do instead.
@usableFromInline
package func trap(
  _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(sentence(), file: file, line: line)
}

/// Traps with a message, as `trap(_:)` does, unless a condition holds.
@inlinable
package func trap(
  unless condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) {
  if condition() { return }
  trap(sentence(), file: file, line: line)
}
