// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Warnings on standard error, about conditions that are not errors but probably unintended.
package enum Warnings {
  /// Whether warnings are printed. False in tools that open other programs' models without their classes.
  package static let arePrinted = Guarded(true)
  private static let printed = Guarded<Set<String>>([])

  /// Prints a sentence once in the lifetime of the process.
  package static func printOnce(_ sentence: String) {
    guard arePrinted.value else { return }
    var isNew = false
    printed.update { isNew = $0.insert(sentence).inserted }
    if isNew { FileHandle.standardError.write(Data("CoreData: warning: \(sentence)\n".utf8)) }
  }
}
