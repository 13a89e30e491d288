// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// A method with `@objc`, which Objective-C can call by its selector.
struct CallableMethod {
  let name: String
  let selector: String
  let parameters: [SourceFile.Parameter]
  let canThrow: Bool

  /// The file that declares a private method; nil if other files can call the method.
  let privateTo: String?

  static func all(in type: TypeDeclaration, of file: SourceFile) -> [CallableMethod] {
    file.members(of: type, "func").compactMap { position, head in
      guard type.hasObjectiveCMembers || head.attributes.contains("objc"), !head.isStatic,
        file.isWord(position + 1), file.word(position + 2) == "("
      else { return nil }
      let close = file.afterBrackets(position + 2)
      let parameters = file.parameters(file.inside(position + 2))
      // A method is left out if it has an `inout` parameter, which no value can be passed to, or a closure parameter,
      // whose type cannot be checked.
      guard file.word(close) != "async",
        !parameters.contains(where: { $0.type.hasPrefix("inout ") || $0.type.contains("@") })
      else { return nil }
      let name = file.word(position + 1)
      return CallableMethod(
        name: name, selector: head.objectiveCName ?? selector(name, parameters.map(\.label)), parameters: parameters,
        canThrow: file.word(close) == "throws", privateTo: head.isPrivate || type.isPrivate ? file.path : nil)
    }
  }

  /// The prepositions next to which Swift inserts no `With`: as the last word of a method's name, or as the first word
  /// of its first label.
  private static let prepositions: Set<String> = [
    "about", "above", "after", "along", "alongside", "as", "at", "before", "below", "by", "following", "for", "from",
    "given", "in", "including", "inside", "into", "matching", "of", "on", "passing", "preceding", "since", "to",
    "until",
    "using", "via", "when", "with", "within",
  ]

  /// Returns the selector that Swift gives a method.
  private static func selector(_ name: String, _ labels: [String]) -> String {
    guard let first = labels.first else { return name }
    let rest = labels.dropFirst().map { ($0 == "_" ? "" : $0) + ":" }.joined()
    if first == "_" { return name + ":" + rest }
    let isJoined = prepositions.contains(word(first, first: true)) || prepositions.contains(word(name, first: false))
    return name + (isJoined ? "" : "With") + SwiftName.capitalized(first) + ":" + rest
  }

  /// Returns the first or the last word of a camel-case name, in lower case.
  private static func word(_ name: String, first: Bool) -> String {
    var words: [String] = [""]
    for character in name {
      if character.isUppercase { words.append("") }
      words[words.count - 1] += character.lowercased()
    }
    words.removeAll(where: \.isEmpty)
    return (first ? words.first : words.last) ?? ""
  }

  /// The pointer type for an object reference.
  static let pointer = "AutoreleasingUnsafeMutablePointer"

  /// The key whose value the method validates; nil for any other method.
  var validatedKey: String? {
    guard name.hasPrefix("validate"), parameters.count == 1, parameters[0].label == "_", canThrow,
      parameters[0].type.hasPrefix(Self.pointer), name.count > 8
    else { return nil }
    let title = name.dropFirst(8)
    return title.prefix(1).lowercased() + title.dropFirst()
  }

  /// A `case` in a `switch` over selectors that calls the method with `arguments`.
  var dispatch: [String] {
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
    return ["case \"\(selector)\":", "if \(conditions.joined(separator: ", ")) { return \(call) }"]
  }
}

extension TranslationPass {
  /// Returns the member through which expressions of mapping models call the methods of a migration policy; nil for
  /// other classes.
  func callFunction(_ type: TypeDeclaration) -> MemberText? {
    let methods = methods(of: type).filter { $0.validatedKey == nil }
    guard !methods.isEmpty, program.isPolicy(type.bareName), !declares("callFunction", type) else { return nil }
    return MemberText(
      ["\(type.access)override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {", "switch name {"]
        + methods.flatMap(\.dispatch)
        + ["default:", "break", "}", "return try super.callFunction(name, arguments: arguments)", "}"])
  }

  /// Returns the member that calls the validation methods of single keys, such as `@objc func validateName(_:) throws`;
  /// nil if there are none.
  func validateValue(_ type: TypeDeclaration) -> MemberText? {
    let methods = methods(of: type).filter { $0.validatedKey != nil }
    guard !methods.isEmpty, !declares("validateValue", type) else { return nil }
    return MemberText(
      [
        "\(type.access)override func validateValue(_ value: inout Any?, forKey key: String) throws {",
        "try super.validateValue(&value, forKey: key)", "switch key {",
      ] + methods.flatMap { ["case \"\($0.validatedKey ?? "")\":", "try validate(&value, with: self.\($0.name))"] }
        + ["default:", "break", "}", "}"])
  }

  /// Returns the methods of a class that this file can call.
  private func methods(of type: TypeDeclaration) -> [CallableMethod] {
    (program.methods[type.bareName] ?? []).filter { $0.privateTo == nil || $0.privateTo == file.path }
  }

  /// Whether a type declares a method with a name, in some branch of `#if` at least.
  func declares(_ name: String, _ type: TypeDeclaration) -> Bool {
    file.members(of: type, "func").contains { file.word($0.position + 1) == name }
      || file.uncertainMembers(of: type).contains { file.word($0) == name && file.word($0 - 1) == "func" }
  }
}
