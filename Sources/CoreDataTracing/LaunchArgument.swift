// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Arguments of the form `-com.apple.CoreData.NAME VALUE`, with which Apple's framework is asked for diagnostics.
package enum LaunchArgument {
  /// Returns the value of an argument, or nil if there is none. The last one counts.
  package static func value(of name: String, in arguments: [String]) -> String? {
    guard let position = arguments.lastIndex(of: name), position + 1 < arguments.count else { return nil }
    return arguments[position + 1]
  }
}
