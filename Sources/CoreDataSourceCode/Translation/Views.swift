// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// What a port does with SwiftUI, which only Apple's systems have: its import, and each declaration that uses its names,
/// are kept for them in `#if canImport(SwiftUI)`. A type that is not a view itself, such as a model, loses only the
/// members that use SwiftUI.
extension TranslationPass {
  private static let viewCondition = "#if canImport(SwiftUI)"

  /// Names of SwiftUI, and of the modules that it exports, that occur in declarations beside models.
  private static let viewNames: Set<String> = [
    "Alignment", "AnyView", "App", "AppStorage", "Angle", "Animation", "Binding", "Bindable", "Button", "Color",
    "ColorScheme", "ContentMode", "EdgeInsets", "Environment", "EnvironmentKey", "EnvironmentObject",
    "EnvironmentValues", "FetchRequest", "FocusState", "Font", "ForEach", "Form", "GeometryReader", "GestureState",
    "Gradient", "Group", "HStack", "Image", "Label", "LazyHStack", "LazyVGrid", "LazyVStack", "LinearGradient", "List",
    "LocalizedStringKey", "Namespace", "NavigationLink", "NavigationSplitView", "NavigationStack", "NavigationView",
    "NSColor", "NSFont", "NSImage", "ObservableObject", "ObservedObject", "Picker", "PreferenceKey", "Preview",
    "PreviewModifier", "PreviewProvider", "Published", "Query", "Scene", "SceneStorage", "Section", "Shape", "State",
    "StateObject", "Text", "TextField", "Toggle", "UIApplication", "UIColor", "UIFont", "UIImage", "VStack", "View",
    "ViewBuilder", "ViewModifier", "WindowGroup", "ZStack", "withAnimation",
  ]

  /// Keeps views for Apple's systems.
  mutating func keepViews() {
    let imports = file.words.indices.filter { file.words[$0] == "SwiftUI" && file.word($0 - 1) == "import" }
    reportStoredViews(isFirst: !imports.isEmpty)
    guard !imports.isEmpty else { return reportViews() }
    let exports = ["Foundation", "SwiftData", "CoreData"]
    let hasFoundation = file.words.indices.contains {
      exports.contains(file.words[$0]) && file.word($0 - 1) == "import"
    }
    for position in imports {
      let start = file.tokens[position - 1].range.lowerBound
      keepForViews(
        start..<file.tokens[position].range.upperBound, elsewhere: hasFoundation ? [] : ["import Foundation"])
    }
    keepViews(in: 0..<file.words.count)
  }

  /// Keeps those of some declarations that use SwiftUI, adjacent ones together.
  ///
  /// - Parameters:
  ///   - range: the tokens of the declarations.
  ///   - stored: the positions of stored properties, which stay as they are.
  private mutating func keepViews(in range: Range<Int>, except stored: [Int] = []) {
    var groups: [Range<Int>] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let declaration = self.declaration(from: position, before: range.upperBound)
      let head = DeclarationHead(from: position, in: file)
      if file.word(head.end) != "import", usesViews(declaration), !stored.contains(where: declaration.contains) {
        if let type = other(declaration, head) {
          keepViews(in: type.body, except: storedViews(of: type))
        } else if let last = groups.last, last.upperBound == position {
          groups[groups.count - 1] = last.lowerBound..<declaration.upperBound
        } else {
          groups.append(declaration)
        }
      }
      position = declaration.upperBound
    }
    for group in groups {
      keepForViews(file.tokens[group.lowerBound].range.lowerBound..<file.tokens[group.upperBound - 1].range.upperBound)
    }
  }

  /// Returns the position after the declaration that begins at a position.
  private func declaration(from start: Int, before end: Int) -> Range<Int> {
    var next = max(DeclarationHead(from: start, in: file).end, start) + 1
    while next < end, !file.startsMember(next), file.word(next - 1) != ";" {
      next = ["(", "[", "{"].contains(file.word(next)) ? max(file.afterBrackets(next), next + 1) : next + 1
    }
    return start..<min(next, end)
  }

  /// Returns a type that is not SwiftUI's itself, such as a model or an enumeration, or its extension, of which only
  /// members are kept; nil for views and for declarations of other kinds.
  private func other(_ declaration: Range<Int>, _ head: DeclarationHead) -> TypeDeclaration? {
    guard ["class", "struct", "enum", "actor", "extension"].contains(file.word(head.end)) else { return nil }
    let type = file.types.first { declaration.contains($0.body.lowerBound) && $0.body.lowerBound > head.end }
    guard let type, !([type.name] + type.inherited).contains(where: isOfViews) else { return nil }
    // Without its stored properties a type is of no use. Those of models are reported instead.
    return head.attributes.contains("Model") || storedViews(of: type).isEmpty ? type : nil
  }

  /// The stored properties whose types or wrappers are SwiftUI's.
  private func storedViews(of type: TypeDeclaration) -> [Int] {
    file.memberDeclarations(in: type.body).flatMap { member -> [Int] in
      guard case .property(let property) = member, !property.head.modifiers.contains("static") else { return [] }
      let isWrapped = property.head.attributes.contains(where: isOfViews)
      return property.bindings.filter { binding in
        guard case .computed = binding.accessors else {
          let end = declaration(from: binding.position, before: type.body.upperBound).upperBound
          return isWrapped || usesViews(binding.position..<end)
        }
        return false
      }.map(\.position)
    }
  }

  /// Reports models that store values of SwiftUI.
  ///
  /// - Parameter isFirst: whether the file has not been ported.
  private mutating func reportStoredViews(isFirst: Bool) {
    guard isFirst || String(decoding: file.bytes, as: UTF8.self).contains(Self.viewCondition) else { return }
    for type in file.types where type.kind == "class" {
      let keyword = (0..<type.body.lowerBound).last { file.words[$0] == "class" } ?? 0
      guard DeclarationHead(before: keyword, in: file).attributes.contains("Model") else { continue }
      for position in storedViews(of: type) {
        emit(
          .error,
          "A model that is used on other systems cannot store a value of SwiftUI. Store what it is made of, such as the "
            + "name of a color, and compute the value in #if canImport(SwiftUI).", at: position)
      }
    }
  }

  private func usesViews(_ range: Range<Int>) -> Bool {
    range.contains { position in
      guard file.isWord(position), isOfViews(file.words[position]) else { return false }
      // A member or a label of that name is the program's own.
      let isMember = file.word(position - 1) == "." && file.word(position - 2) != "SwiftUI"
      return !isMember && (file.word(position + 1) != ":" || file.word(position - 1) == "@")
    }
  }

  private func isOfViews(_ name: String) -> Bool {
    Self.viewNames.contains(name) && !program.ownNames.contains(name) || name.hasPrefix("SwiftUI.")
  }

  /// Puts lines into `#if canImport(SwiftUI)`, with other lines for systems without it.
  private mutating func keepForViews(_ range: Range<Int>, elsewhere: [String] = []) {
    let start = afterComments(before: range.lowerBound)
    let end = afterComment(range.upperBound)
    let indentation = indentation(at: range.lowerBound)
    let opening = Self.viewCondition + lineBreak + indentation
    edits.insert(isFirstOnLine(start) ? opening : lineBreak + indentation + opening, at: start)
    let closing = (elsewhere.isEmpty ? [] : ["#else"] + elsewhere) + ["#endif"]
    let text = closing.map { lineBreak + indentation + $0 }.joined()
    edits.insert(isLastOnLine(end) ? text : text + lineBreak + indentation, at: end)
  }

  // MARK: What is left to Apple's systems

  /// Reports views with queries, and apps with containers, that a port has left to Apple's systems.
  private mutating func reportViews() {
    let text = String(decoding: file.bytes, as: UTF8.self)
    guard text.contains(Self.viewCondition) else { return }
    let whole = SourceFile(path: file.path, bytes: file.bytes, keepsConditions: true)
    // Whether each of the conditions around a token is that of views.
    var conditions: [Bool] = []
    for position in whole.words.indices {
      let word = whole.words[position]
      if whole.tokens[position].kind == .directive {
        if word.hasPrefix("#if") {
          conditions.append(word.hasPrefix(Self.viewCondition))
        } else if !conditions.isEmpty {
          if word.hasPrefix("#endif") { conditions.removeLast() } else { conditions[conditions.count - 1] = false }
        }
      } else if conditions.contains(true), let type = whole.type(around: position) {
        if word == "Query", whole.word(position - 1) == "@" {
          emitView(
            "\(type.name) is left to Apple's systems: @Query needs SwiftUI. Fetch with a FetchDescriptor elsewhere.",
            position, in: whole)
        } else if word == "ModelContainer", type.inherited.contains("App"), whole.word(position - 1) != ":",
          whole.word(position + 1) == "("
        {
          emitView(
            "\(type.name) is left to Apple's systems, with the container that it makes. To open the store elsewhere too, "
              + "make the container in a function outside of the app.", position, in: whole)
        }
      }
    }
  }

  private mutating func emitView(_ text: String, _ position: Int, in whole: SourceFile) {
    note(.warning, text, at: whole.place(of: whole.tokens[position].range.lowerBound))
  }
}
