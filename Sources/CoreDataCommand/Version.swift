// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension CommandLineTool {
  /// The version of the tool and the library. Scripts read it from this line (`Scripts/project.sh version`).
  static let version = "0.3.0"
}
