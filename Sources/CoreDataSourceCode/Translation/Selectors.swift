// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// Translation of selectors, which is possible only if their use is known.
extension TranslationPass {
  /// The string comparison methods of sort descriptors.
  private static let comparisons: Set<String> = [
    "compare", "caseInsensitiveCompare", "localizedCompare", "localizedCaseInsensitiveCompare",
    "localizedStandardCompare",
  ]

  /// Translates the `#selector` at a position.
  mutating func selector(_ position: Int) {
    let end = min(file.afterBrackets(position + 2), file.tokens.count)
    let range = file.tokens[position].range.lowerBound..<file.tokens[end - 1].range.upperBound
    if file.word(position + 3) == "NSString", Self.comparisons.contains(file.word(position + 5)) {
      return edits.replace(range, "\"\(file.word(position + 5)):\"")
    }
    if isName(position, end) { return }
    guard ProgramTypes.isOfObserver(position, in: file) else {
      return emit(.error, "#selector needs Objective-C. Pass a closure instead, or call the method.", at: position)
    }
    guard let method = method(position), purpose == .build || keepsObserver(position) else {
      return emit(
        .error,
        "#selector needs Objective-C. Observe by a closure, which all systems have: "
          + "addObserver(forName:object:queue:using:).", at: position)
    }
    edits.replace(range, method)
  }

  /// Translates `NSStringFromSelector(#selector(getter: Order.date))` to the string.
  ///
  /// - Returns: whether the selector has this form.
  private mutating func isName(_ position: Int, _ end: Int) -> Bool {
    let accessor = file.word(position + 3)
    guard file.word(position - 1) == "(", file.word(position - 2) == "NSStringFromSelector", file.word(end) == ")",
      ["getter", "setter"].contains(accessor), file.word(position + 4) == ":"
    else { return false }
    let names = (position + 5..<max(position + 5, end - 1)).filter { file.isWord($0) }
    let parts = names.map { file.word($0).filter { $0 != "`" } }
    let (keys, problem) = program.keys(in: parts, around: file.type(around: position))
    if let problem { emit(.error, problem.text, at: names[problem.part]) }
    guard let key = keys.last else { return false }
    let name = accessor == "getter" ? key : "set\(SwiftName.capitalized(key)):"
    edits.replace(
      file.tokens[position - 2].range.lowerBound..<file.tokens[end].range.upperBound, SwiftName.literal(name))
    return true
  }

  /// Keeps a statement that adds an observer for Apple's systems, and writes it again for others, with the method.
  ///
  /// - Parameter position: the position of the selector among its arguments.
  /// - Returns: whether the statement has its own lines.
  private mutating func keepsObserver(_ position: Int) -> Bool {
    guard let open = ProgramTypes.observerArguments(position, in: file) else { return false }
    let end = file.afterBrackets(open)
    var start = open - 1
    while file.word(start - 1) == ".", start > 1 {
      start -= 1
      if ["?", "!"].contains(file.word(start - 1)) { start -= 1 }
      if file.word(start - 1) == ")", let call = (0..<start - 1).last(where: { file.afterBrackets($0) == start }) {
        start = call
      }
      if file.isWord(start - 1) { start -= 1 }
    }
    // If the expression continues, possibly on another line, it is more than a statement.
    let isWhole =
      end <= file.tokens.count
      && !["=", ",", "(", "[", ":", "&", "|", "?", "<", "return", "try", "await"].contains(
        file.word(start - 1))
      && ![".", "?", "=", "&", "|", ")", "]", ","].contains(file.word(end))
    return isWhole && keepLines(file.tokens[start].range.lowerBound..<file.tokens[end - 1].range.upperBound)
  }

  /// Returns the method of a selector as a function of the observer, such as `Screen.didSave(_:)`; nil if it is
  /// unknown.
  private func method(_ position: Int) -> String? {
    let inner = file.inside(position + 2)
    guard let type = file.type(around: position), !inner.contains(where: { file.word($0) == "as" }), !inner.isEmpty
    else { return nil }
    let first = inner.lowerBound
    if ["self", "Self"].contains(file.word(first)), file.word(first + 1) == "." {
      return "\(type.name).\(file.text(first + 2..<inner.upperBound))"
    }
    let isOfType = file.word(first + 1) == "." && file.word(first).first?.isUppercase == true
    let isPlain = file.isWord(first) && (inner.count == 1 || file.word(first + 1) == "(")
    if isOfType { return file.text(inner) }
    return isPlain ? "\(type.name).\(file.text(inner))" : nil
  }
}

extension ProgramTypes {
  /// Whether a selector is an argument of `addObserver(_:selector:name:object:)`.
  static func isOfObserver(_ position: Int, in file: SourceFile) -> Bool {
    observerArguments(position, in: file) != nil
  }

  /// Returns the start of the `addObserver` arguments that contain a selector; nil for any other selector.
  static func observerArguments(_ position: Int, in file: SourceFile) -> Int? {
    guard file.word(position - 1) == ":", file.word(position - 2) == "selector" else { return nil }
    var (open, depth) = (position - 3, 0)
    while open > 0 {
      if [")", "]", "}"].contains(file.word(open)) { depth += 1 }
      if ["(", "[", "{"].contains(file.word(open)) {
        if depth == 0 { break }
        depth -= 1
      }
      open -= 1
    }
    return file.word(open) == "(" && file.word(open - 1) == "addObserver" ? open : nil
  }
}
