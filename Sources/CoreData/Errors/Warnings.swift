// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Warnings on standard error: about what is not an error, and unlikely to be intended.
package enum Warnings {
  /// Whether warnings are printed. A tool for the models of other programs has none of their classes and transformers.
  package static let arePrinted = Guarded(true)
  private static let printed = Guarded<Set<String>>([])

  /// Prints a sentence, once in the life of the process.
  static func printOnce(_ sentence: String) {
    guard arePrinted.value else { return }
    var isNew = false
    printed.update { isNew = $0.insert(sentence).inserted }
    if isNew { FileHandle.standardError.write(Data("CoreData: warning: \(sentence)\n".utf8)) }
  }
}
