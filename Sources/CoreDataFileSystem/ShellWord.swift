// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Quotes the words of command lines that people copy into a shell.
package enum ShellWord {
  private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:@%/~")

  /// Returns the word, in single quotes if a shell would not take it literally.
  package static func quoted(_ word: String) -> String {
    // Some shells expand words that begin with these characters.
    let isPlain = !word.isEmpty && word.allSatisfy(plain.contains) && !"~=%".contains(word[word.startIndex])
    return isPlain ? word : "'\(word.replacingOccurrences(of: "'", with: "'\\''"))'"
  }

  /// Returns the quoted words, separated by spaces.
  package static func line(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }
}
