// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A path as a word of a command line that people copy into a shell.
package enum ShellWord {
  private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:@%/~")

  /// Returns the word as it is if a shell takes it so, otherwise in quotation marks.
  package static func quoted(_ word: String) -> String {
    // Some shells expand words that begin so.
    let isPlain = !word.isEmpty && word.allSatisfy(plain.contains) && !"~=%".contains(word[word.startIndex])
    return isPlain ? word : "'\(word.replacingOccurrences(of: "'", with: "'\\''"))'"
  }

  /// Returns a command line: words with one space between them.
  package static func line(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }
}
