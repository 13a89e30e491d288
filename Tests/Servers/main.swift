// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

do {
  let options = try Options(Array(CommandLine.arguments.dropFirst()))
  let isRight =
    switch options.program {
    case .pooler: try PoolerCheck(options).run()
    case .backends, .commits, .restarts: try FaultCheck(options).run()
    case .failover: try FailoverCheck(options).run()
    case .rolling: try RollingCheck(options).run()
    case .fairness: try FairnessCheck(options).run()
    case .save: try SavingInstance(options).run()
    case .serve: try RollingInstance(options).run()
    }
  exit(isRight ? 0 : 1)
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(2)
}
