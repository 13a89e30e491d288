// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Returns a value if its type, or its object's class, is exactly the given one; nil otherwise. Faster than a cast,
/// which looks for conversions.
@inline(__always)
func exactly<Wanted>(_ type: Wanted.Type, _ value: Any) -> Wanted? {
  guard Swift.type(of: value) == type else { return nil }
  func opened<Actual>(_ value: Actual) -> Wanted { unsafeBitCast(value, to: Wanted.self) }
  return _openExistential(value, do: opened)
}
