// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Testing

@Suite("Unified diffs")
struct UnifiedDiffTests {
  @Test("Changes are shown with three lines around them, and near ones together")
  func hunks() {
    let old = (1...20).map { "\($0)\n" }
    var new = old
    new[2] = "three\n"
    new[6] = "seven\n"
    new.remove(at: 17)
    #expect(
      UnifiedDiff.text(path: "A.swift", old: old.joined(), new: new.joined()) == """
        --- a/A.swift
        +++ b/A.swift
        @@ -1,10 +1,10 @@
         1
         2
        -3
        +three
         4
         5
         6
        -7
        +seven
         8
         9
         10
        @@ -15,6 +15,5 @@
         15
         16
         17
        -18
         19
         20

        """)
    #expect(UnifiedDiff.text(path: "A.swift", old: "a\n", new: "a\n").isEmpty)
  }

  @Test("A new file, an emptied one, and a line without a line break")
  func edges() {
    #expect(UnifiedDiff.text(path: "p", old: "", new: "a\n") == "--- a/p\n+++ b/p\n@@ -0,0 +1 @@\n+a\n")
    #expect(UnifiedDiff.text(path: "p", old: "a\n", new: "") == "--- a/p\n+++ b/p\n@@ -1 +0,0 @@\n-a\n")
    #expect(
      UnifiedDiff.text(path: "p", old: "a", new: "a\r\n")
        == "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\r\n")
  }

  @Test("Applied to the old text, it makes the new one", arguments: 0..<UInt64(200))
  func random(seed: UInt64) throws {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let old = (0..<next(60)).map { _ in "\(next(8))\n" }
    var new = old
    for _ in 0..<next(8) {
      if new.isEmpty || next(2) == 0 {
        new.insert("\(next(9))\n", at: next(new.count + 1))
      } else {
        new.remove(at: next(new.count))
      }
    }
    let diff = UnifiedDiff.text(path: "p", old: old.joined(), new: new.joined())
    #expect(try applied(diff, to: old) == new)
  }

  /// Applies a diff as `patch` does, and checks the numbers of its hunks.
  private func applied(_ diff: String, to old: [String]) throws -> [String] {
    var result: [String] = []
    var position = 0
    for line in diff.split(separator: "\n").dropFirst(2) {
      let text = line.dropFirst() + "\n"
      switch line.first {
      case "@":
        let numbers = line.split { !$0.isNumber }.compactMap { Int($0) }
        let hasCount = line.split(separator: " ")[1].contains(",")
        let start = hasCount && numbers[1] == 0 ? numbers[0] : numbers[0] - 1
        result += old[position..<start]
        position = start
      case "-":
        #expect(old[position] == text)
        position += 1
      case "+": result.append(String(text))
      default:
        #expect(old[position] == text)
        result.append(old[position])
        position += 1
      }
    }
    return result + old[position...]
  }
}
