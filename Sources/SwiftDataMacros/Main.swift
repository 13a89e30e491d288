// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftDataMacroExpansion

// A target of its own: SwiftPM builds whatever tests a macro's target a second time, as a tool of the host.
@main
struct Main {
  static func main() {
    CompilerPlugin.runWithStandardStreams()
  }
}
