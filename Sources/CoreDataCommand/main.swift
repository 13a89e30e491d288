// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

let status = CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), streams: .process)
exit(status.rawValue)
