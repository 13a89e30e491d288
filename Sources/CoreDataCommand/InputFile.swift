// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// What is checked of a path on the command line before it is read.
enum InputFile {
  /// Refuses a FIFO, a socket and a device, which reading could wait for without end.
  ///
  /// - Throws: `CommandFailure`; a directory, and a path where nothing is, pass.
  static func check(_ url: URL, _ what: String) throws {
    do {
      try RegularFile.check(url)
    } catch let problem as RegularFile.Problem {
      // A model or a mapping model may be a directory.
      guard case .notRegular(let path, let kind) = problem, kind != "a directory" else { return }
      throw CommandFailure(.invalidModel, "'\(path)' is \(kind), and no \(what). Check the path.")
    }
  }
}
