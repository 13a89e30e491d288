// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Returns a value that is of just this type, or an object of just this class; nil for any other. Faster than a cast, which
/// looks for conversions.
@inline(__always)
func exactly<Wanted>(_ type: Wanted.Type, _ value: Any) -> Wanted? {
  guard Swift.type(of: value) == type else { return nil }
  func opened<Actual>(_ value: Actual) -> Wanted { unsafeBitCast(value, to: Wanted.self) }
  return _openExistential(value, do: opened)
}
