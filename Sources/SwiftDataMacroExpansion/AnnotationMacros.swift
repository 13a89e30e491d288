// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

// The macros that add nothing: `@Model` reads them in the source of the class.
extension MacroExpansion {
  /// Checks the use of `@Attribute`, `@Relationship` or `@Transient`.
  mutating func checkAnnotation(_ request: ExpansionRequest) {
    guard let declaration = request.declSyntax else { return }
    let file = declaration.tokens
    guard case .other? = file.memberDeclarations(in: 0..<Int.max).first else { return }
    let head = DeclarationHead(from: 0, in: file)
    let position = head.attributeList.first { $0.name == request.macro.bareName }?.position ?? head.end
    report(
      "@\(request.macro.bareName) can only be attached to a property.", at: file.offset(of: position),
      of: declaration)
  }

  /// Checks the use of `#Unique` or `#Index`.
  mutating func checkConstraint(_ request: ExpansionRequest) {
    guard let context = request.lexicalContext else { return }
    let isInModel = context.first.map { context in
      let head = DeclarationHead(from: 0, in: context.tokens)
      return context.tokens.word(head.end) == "class" && head.attributes.contains("Model")
    }
    guard isInModel != true else { return }
    report(
      "#\(request.macro.bareName) has no effect here. Put it into the body of a class with @Model.",
      at: request.syntax?.tokens.offset(of: 0) ?? 0, of: request.syntax)
  }
}

extension ExpansionRequest.Macro {
  /// The name without the module and without what the compiler leaves behind it, such as a comment.
  fileprivate var bareName: String { String(typeName.hasSuffix("Macro") ? typeName.dropLast(5) : typeName[...]) }
}
