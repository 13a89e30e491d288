// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What the tool calls itself, in help and in files for other programs.
enum ToolIdentity {
  static let name = "coredata"
  static let version = "0.1.0"
}
