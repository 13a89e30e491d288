// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import Foundation

Warnings.arePrinted.value = false
// A file that reaches the limit of the process (ulimit -f) is an error to report, like a full disk. The signal would end
// the process in the middle of its work.
signal(SIGXFSZ, SIG_IGN)
// `swift package coredata` passes the names of the app's modules, which are linked into the tool.
if let modules = ProcessInfo.processInfo.environment["COREDATA_MODULES"] {
  ProgramClasses.add(modules: modules.split(separator: ":").map(String.init))
}
if let failure = ProcessLimits.failure() ?? UnreadableArgument.failure() {
  exit(CommandLineTool.report(failure, Array(CommandLine.arguments.dropFirst()), .process).rawValue)
}
PasswordQuestion.answer(by: { PasswordPrompt.ask("Password for \($0): ") })
let signals = StopSignals.receive()
let status = CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), streams: .process)
exit(status.rawValue)
