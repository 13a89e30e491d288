// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Ends the program because of a mistake in its code, and says on standard error which: also in release builds, from which
/// the texts of `precondition` and `preconditionFailure` are left out.
///
/// - Parameter sentence: what the mistake is, with names, and what to do instead.
@usableFromInline
package func trap(
  _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(sentence(), file: file, line: line)
}

/// Ends the program, as `trap(_:)`, unless a condition holds.
@inlinable
package func trap(
  unless condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) {
  if condition() { return }
  trap(sentence(), file: file, line: line)
}
