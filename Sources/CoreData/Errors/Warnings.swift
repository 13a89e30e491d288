// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Warnings on standard error: about what is not an error, and unlikely to be intended.
enum Warnings {
  private static let printed = Guarded<Set<String>>([])

  /// Prints a sentence, once in the life of the process.
  static func printOnce(_ sentence: String) {
    var isNew = false
    printed.update { isNew = $0.insert(sentence).inserted }
    if isNew { FileHandle.standardError.write(Data("CoreData: warning: \(sentence)\n".utf8)) }
  }
}
