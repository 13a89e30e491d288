// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

// The tool run by the build-tool plug-in `CoreDataModels`. Errors go to standard error in the format of compiler
// messages.
do {
  try ModelsTool.run(Array(CommandLine.arguments.dropFirst()))
} catch let error as ModelFileError {
  let place = "\(error.file ?? CommandLine.arguments.last ?? ""):\(error.line ?? 1):1"
  var problem = error
  (problem.file, problem.line) = (nil, nil)
  ModelsTool.complain("\(place): error: \(problem)")
  exit(1)
} catch {
  ModelsTool.complain("error: \(error)")
  exit(1)
}
