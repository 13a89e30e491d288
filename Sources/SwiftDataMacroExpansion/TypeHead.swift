// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// The head of the declaration of a type that a macro is attached to.
struct TypeHead {
  let file: SourceFile
  let head: DeclarationHead
  /// `class`, `struct`, `actor` and so on.
  let keyword: String
  /// The position of the name's token.
  let namePosition: Int
  /// The name as written.
  var name: String { file.word(namePosition) }
  /// The words of the inheritance clause; empty if there is none.
  let inherited: [String]
  /// The tokens between the braces.
  let body: Range<Int>
  /// The modifier of members that are as visible as the type, with a space; empty if they need none.
  let access: String

  init(_ syntax: SourceSyntax, in context: [SourceSyntax]?) {
    file = syntax.tokens
    head = DeclarationHead(from: 0, in: file)
    keyword = file.word(head.end)
    namePosition = head.end + 1
    var next = namePosition + 1
    while next < file.words.count, file.word(next) != "{" {
      next = ["(", "["].contains(file.word(next)) ? max(file.afterBrackets(next), next + 1) : next + 1
    }
    let clause = file.words[min(namePosition + 1, next)..<min(next, file.words.count)]
    inherited = clause.firstIndex(of: ":").map { Array(clause[$0...].dropFirst()) } ?? []
    body = file.inside(next)
    access = Self.access(head, around: context?.first)
  }

  private static func access(_ head: DeclarationHead, around context: SourceSyntax?) -> String {
    for level in ["public", "open", "package", "internal", "fileprivate", "private"]
    where head.modifiers.contains(level) {
      return switch level {
      case "public", "open": "public "
      case "package": "package "
      default: ""
      }
    }
    // The members of a public extension are public.
    guard let context = context?.tokens else { return "" }
    let outer = DeclarationHead(from: 0, in: context)
    guard context.word(outer.end) == "extension" else { return "" }
    return access(outer, around: nil)
  }

  /// The kind of type, for messages.
  var keywordWithArticle: String { (["actor", "enum", "extension"].contains(keyword) ? "an " : "a ") + keyword }

  var isFinal: Bool { head.modifiers.contains("final") }
  var isOpen: Bool { head.modifiers.contains("open") }

  /// The members, with the conditions between them.
  var members: [MemberDeclaration] { file.memberDeclarations(in: body) }
}
