// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal

/// `coredata manual`
enum ManualCommand: Command {
  static let specification = CommandSpecification(
    ["manual"], summary: "Write the manual page.",
    discussion: "To read it: coredata manual --output coredata.1, then man ./coredata.1.", options: [.format(.text)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try invocation.result.write(source: invocation.tool.manualPage)
    return .done
  }
}
