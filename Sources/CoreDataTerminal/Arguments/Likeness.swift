// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Suggests the word that a misspelled word was meant to be.
package enum Likeness {
  /// Returns the candidate within a few typing mistakes of a word, or nil if there is none.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    let word = word.lowercased()
    let near = candidates.map { (candidate: $0, distance: distance(word, $0.lowercased())) }
      .filter { $0.distance <= max(1, min(word.count, $0.candidate.count) / 3) }
    return near.min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?.candidate
  }

  /// Returns `; did you mean X?`, or an empty text.
  static func question(_ word: String, among candidates: [String], prefix: String = "") -> String {
    nearest(to: word, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }

  /// Returns the edit distance of two words: the number of letters to insert, delete, change or swap with a neighbor.
  package static func distance(_ first: String, _ second: String) -> Int {
    let first = Array(first)
    let second = Array(second)
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in first.indices {
      var current = [row + 1]
      for column in second.indices {
        let change = last[column] + (first[row] == second[column] ? 0 : 1)
        var best = min(change, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[second.count]
  }
}
