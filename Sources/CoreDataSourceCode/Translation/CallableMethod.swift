// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A method that Objective-C can call by its selector: one with `@objc`.
struct CallableMethod {
  let name: String
  let selector: String
  let parameters: [SourceFile.Parameter]
  let canThrow: Bool

  static func all(in type: TypeDeclaration, of file: SourceFile) -> [CallableMethod] {
    let hasMembers = file.words.indices.contains { position in
      position < type.body.lowerBound && file.words[position] == "objcMembers"
        && file.type(around: type.body.lowerBound)?.body == type.body
        && !(position..<type.body.lowerBound).contains { file.words[$0] == "}" }
    }
    var result: [CallableMethod] = []
    var position = type.body.lowerBound
    var selector: String?
    var isCallable = hasMembers
    while position < min(type.body.upperBound, file.words.count) {
      switch file.word(position) {
      case "@" where file.word(position + 1) == "objc":
        isCallable = true
        position += 2
        if file.word(position) == "(" {
          let end = file.afterBrackets(position)
          selector = file.words[position + 1..<max(position + 1, min(end - 1, file.words.count))].joined()
          position = end
        }
        continue
      case "func":
        let open = position + 2
        if isCallable, file.isWord(position + 1), file.word(open) == "(" {
          let close = file.afterBrackets(open)
          let parameters = file.parameters(open + 1..<max(open + 1, min(close - 1, file.words.count)))
          let name = file.word(position + 1)
          result.append(
            CallableMethod(
              name: name, selector: selector ?? Self.selector(name, parameters.map(\.label)), parameters: parameters,
              canThrow: file.word(close) == "throws"))
        }
        (selector, isCallable) = (nil, hasMembers)
      case "var", "let", "init", "class", "struct", "enum": (selector, isCallable) = (nil, hasMembers)
      case "{":
        position = file.afterBrackets(position)
        continue
      default: break
      }
      position += 1
    }
    return result
  }

  /// The words after which Swift puts no `With` between a method's name and its first label.
  private static let prepositions: Set<String> = [
    "about", "above", "after", "along", "alongside", "as", "at", "before", "below", "by", "following", "for", "from",
    "given", "in", "including", "inside", "into", "matching", "of", "on", "passing", "preceding", "since", "to",
    "until",
    "using", "via", "when", "with", "within",
  ]

  /// The selector that Swift gives a method.
  private static func selector(_ name: String, _ labels: [String]) -> String {
    guard let first = labels.first else { return name }
    let rest = labels.dropFirst().map { ($0 == "_" ? "" : $0) + ":" }.joined()
    if first == "_" { return name + ":" + rest }
    let isJoined = prepositions.contains(word(first, first: true)) || prepositions.contains(word(name, first: false))
    return name + (isJoined ? "" : "With") + SwiftName.capitalized(first) + ":" + rest
  }

  /// The first or the last word of a name in camel case, in lower case.
  private static func word(_ name: String, first: Bool) -> String {
    var words: [String] = [""]
    for character in name {
      if character.isUppercase { words.append("") }
      words[words.count - 1] += character.lowercased()
    }
    words.removeAll(where: \.isEmpty)
    return (first ? words.first : words.last) ?? ""
  }

  /// A case of a `switch` over selectors that calls the method with `arguments`.
  var dispatch: String {
    var conditions = ["arguments.count == \(parameters.count)"]
    var values: [String] = []
    for (index, parameter) in parameters.enumerated() {
      let label = parameter.label == "_" ? "" : "\(parameter.label): "
      if let wrapped = parameter.wrapped {
        values.append("\(label)arguments[\(index)] as? \(wrapped)")
      } else {
        conditions.append("let argument\(index) = arguments[\(index)] as? \(parameter.type)")
        values.append("\(label)argument\(index)")
      }
    }
    let call = "\(canThrow ? "try " : "")self.\(name)(\(values.joined(separator: ", ")))"
    return "case \"\(selector)\": if \(conditions.joined(separator: ", ")) { return \(call) }"
  }
}

extension TranslationPass {
  /// Lets the expressions of mapping models call the methods of a migration policy.
  mutating func callFunction(_ type: TypeDeclaration) {
    let methods = program.methods[type.bareName] ?? []
    let isWritten = type.body.contains { file.word($0) == "callFunction" && file.word($0 - 1) == "func" }
    guard !methods.isEmpty, !isWritten, type.body.upperBound < file.tokens.count else { return }
    let text =
      " override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? { switch name { "
      + methods.map(\.dispatch).joined(separator: "; ")
      + "; default: break }; return try super.callFunction(name, arguments: arguments) } "
    edits.insert(text, at: file.tokens[type.body.upperBound].range.lowerBound)
  }
}

extension SourceFile {
  /// A parameter of a function.
  struct Parameter {
    /// The label at a call; `_` for none.
    let label: String
    /// The name inside the function.
    let name: String
    let type: String

    /// The type in an optional type; nil for any other type.
    var wrapped: String? { type.hasSuffix("?") || type.hasSuffix("!") ? String(type.dropLast()) : nil }
  }

  /// Returns the parameters between parentheses.
  func parameters(_ range: Range<Int>) -> [Parameter] {
    var result: [Parameter] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let label = word(position)
      let name = isWord(position + 1) ? word(position + 1) : label
      position += isWord(position + 1) ? 2 : 1
      guard word(position) == ":" else { break }
      let end = min(afterType(position + 1), range.upperBound)
      result.append(Parameter(label: label, name: name, type: text(position + 1..<end)))
      position = end
      // A default value.
      while position < range.upperBound, word(position) != "," {
        position = ["(", "[", "{"].contains(word(position)) ? afterBrackets(position) : position + 1
      }
      position += 1
    }
    return result
  }

  /// The text of tokens as it is in the file, on one line.
  func text(_ positions: Range<Int>) -> String {
    guard let first = positions.first, let last = positions.last, last < tokens.count else { return "" }
    let bytes = bytes[tokens[first].range.lowerBound..<tokens[last].range.upperBound]
    let text = String(decoding: bytes, as: UTF8.self)
    // With comments or line breaks between the tokens, the tokens alone.
    return text.contains { $0.isNewline } || text.contains("/") ? words[positions].joined(separator: " ") : text
  }

  /// Returns the position after the type that begins at a position.
  func afterType(_ start: Int) -> Int {
    var next = start
    while true {
      while word(next) == "@" || ["some", "any", "inout", "borrowing", "consuming"].contains(word(next)) {
        next += word(next) == "@" ? 2 : 1
      }
      switch word(next) {
      case "(", "[": next = afterBrackets(next)
      case _ where isWord(next): next += 1
      default: return next
      }
      suffixes: while true {
        switch word(next) {
        case "?", "!": next += 1
        case "<": next = afterBrackets(next)
        case "." where isWord(next + 1): next += 2
        default: break suffixes
        }
      }
      if word(next) == "&" {
        next += 1
      } else if word(next) == "-", word(next + 1) == ">" {
        next += 2
      } else {
        return min(next, words.count)
      }
    }
  }
}
