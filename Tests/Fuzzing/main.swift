// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

do {
  let options = try FuzzOptions(Array(CommandLine.arguments.dropFirst()))
  switch options.role {
  case .supervise: exit(try FuzzSupervisor(options).run() == 0 ? 0 : 1)
  case .work: try FuzzWorker(options).run()
  case .save: try FuzzWorker(options).save()
  case .makeSamples: try Sample.make(in: options.corpus)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(2)
}
