// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// Translation of bundles. A package has one for each target with resources.
extension TranslationPass {
  /// Translates the code after the word `Bundle`.
  mutating func bundle(_ position: Int) {
    guard file.word(position - 1) != "." else { return }
    if file.word(position + 1) == ".", file.word(position + 2) == "main" {
      let lookups = ["url", "urls", "path", "paths"]
      let isLookup = file.word(position + 3) == "." && lookups.contains(file.word(position + 4))
      guard hasResources, isLookup || isWhole(position + 3) else { return }
      edits.replace(file.tokens[position + 2].range, "module")
      return
    }
    let end = file.afterBrackets(position + 1)
    let label = file.word(position + 2)
    guard file.word(position + 1) == "(", file.word(position + 3) == ":", ["for", "identifier"].contains(label),
      end <= file.tokens.count
    else { return }
    let last = file.tokens[end - 1].range.upperBound
    switch (hasResources, label) {
    case (true, "for"): edits.replace(file.tokens[position + 1].range.lowerBound..<last, ".module")
    // The initializer is failable, and its callers expect an optional.
    case (true, _): edits.replace(file.tokens[position].range.lowerBound..<last, "Optional(Bundle.module)")
    case (false, "for"):
      emit(
        .warning,
        "Bundle(for:) is the main bundle here, and this target has no resources. Use the Bundle.module of the "
          + "target that has them, through a property of it.", at: position)
    case (false, _):
      emit(
        .warning,
        "Bundle(identifier:) finds no bundle of a package, and this target has no resources. Use the "
          + "Bundle.module of the target that has them, through a property of it.", at: position)
    }
  }

  /// Translates `.main` in contexts where it can only be a bundle: `let bundle: Bundle = .main` and
  /// `mergedModel(from: [.main])`.
  mutating func impliedBundle(_ position: Int) {
    guard hasResources, file.word(position - 1) == ".", isWhole(position + 1) else { return }
    let before = Array(file.words[max(0, position - 6)..<position - 1])
    let isBundle = [["Bundle", "="], ["Bundle", "?", "="], ["mergedModel", "(", "from", ":", "["]].contains {
      before.suffix($0.count) == $0[...]
    }
    if isBundle { edits.replace(file.tokens[position].range, "module") }
  }

  /// Whether an expression ends before a position.
  private func isWhole(_ position: Int) -> Bool {
    file.isWord(position) || ["", ")", "]", "}", ",", ";", "#", "@"].contains(file.word(position))
  }
}
