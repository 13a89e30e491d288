// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTerminal
import Foundation
import Synchronization

/// The files that a command removes if it is ended before they are complete.
enum UnfinishedFiles {
  private static let drafts = Mutex<Set<URL>>([])

  /// Records a file that will be renamed when it is complete.
  static func add(_ draft: URL) { drafts.withLock { _ = $0.insert(draft) } }

  /// Records that a file is complete, or was removed.
  static func remove(_ draft: URL) { drafts.withLock { _ = $0.remove(draft) } }

  /// Removes the files, and ends the process with status 130.
  static func end() -> Never {
    // The process ends in any case; leftover files are private, or have names that mark them as partial.
    for draft in drafts.withLock({ $0 }) { try? FileCalls.removeFile(draft) }
    PrivateDirectory.removeTemporary()
    CommandStreams.process.printError("error: Stopped.\n")
    // The command is still running, so no exit handler may tear down its memory.
    _exit(ExitStatus.stopped.rawValue)
  }
}
