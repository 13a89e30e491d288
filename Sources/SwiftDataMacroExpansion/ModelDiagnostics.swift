// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

// What is wrong with the declaration of a model.
extension MacroExpansion {
  /// Reports what cannot be expanded, each at its place.
  mutating func checkModel(_ model: ModelClass, _ declaration: SourceSyntax) {
    let file = model.type.file
    for case .property(let property) in model.members {
      let position = file.offset(of: property.bindings.first?.position ?? property.head.end)
      if property.isPersisted, let problem = property.persistenceProblem {
        report(problem, at: position, of: declaration)
      } else if let problem = property.annotationProblem ?? property.transientProblem {
        report(problem, at: position, of: declaration)
      } else if property.isPersisted, property.isConstant {
        // The compiler itself reports this, as a warning for Swift 5, where it works.
        report(
          "The constant '\(property.name.bare)' can only be persisted with the rules of Swift 5. Write "
            + "'private(set) var' instead of 'let'.",
          isWarning: true, at: position, of: declaration)
      } else if property.isPersisted, property.bindings.first?.accessors == .observers {
        report(
          "The observers of '\(property.name.bare)' are never called, because it is persisted. Do their work in a "
            + "method that sets the property, or in the set accessor of a computed property.",
          isWarning: true, at: position, of: declaration)
      }
    }
    if !model.hasInitializer {
      report(
        "@Model requires an initializer to be provided for '\(model.name)'. \(Self.initializerHint(model))",
        at: file.offset(of: model.type.namePosition), of: declaration)
    }
  }

  private static func initializerHint(_ model: ModelClass) -> String {
    let unset = model.persisted.compactMap(\.property).filter { $0.needsInitialValue }.map { "'\($0.name.bare)'" }
    return unset.isEmpty
      ? "Every property has an initial value, so init() {} is enough."
      : "It has to set \(unset.joined(separator: ", ")), which \(unset.count == 1 ? "has" : "have") no initial value."
  }
}

extension PropertyDeclaration {
  /// Whether an initializer has to set the property.
  fileprivate var needsInitialValue: Bool {
    guard let binding = bindings.first, binding.initialValue == nil else { return false }
    return isConstant || !(binding.type?.hasSuffix("?") == true || binding.type?.hasSuffix("!") == true)
  }

  /// The reason why a stored property cannot be persisted; nil if it can.
  var persistenceProblem: String? {
    let annotations = head.attributeList.filter { ["Attribute", "Relationship"].contains($0.name) }
    if bindings.count > 1 {
      return "A persisted property needs a declaration of its own. Write a 'var' for each of "
        + bindings.map { "'\($0.name)'" }.joined(separator: ", ") + ", or mark them @Transient."
    }
    if name.bare.isEmpty {
      return "A persisted property cannot be declared by a tuple pattern. Write a 'var' for each name."
    }
    if head.modifiers.contains("lazy") {
      return "The lazy property '\(name.bare)' cannot be persisted. Mark it @Transient, or remove 'lazy'."
    }
    if annotations.count > 1 {
      return "The property '\(name.bare)' has @\(annotations[0].name) and @\(annotations[1].name). Write one of them: "
        + "@Relationship if its type is a model, or a collection of models, otherwise @Attribute."
    }
    return nil
  }

  /// The reason why `@Attribute` or `@Relationship` has no use; nil if there is none.
  fileprivate var annotationProblem: String? {
    guard let annotation, !isPersisted else { return nil }
    let reason =
      head.isStatic
      ? "belongs to the type" : head.attributes.contains("Transient") ? "is @Transient" : "is computed"
    return "@\(annotation.name) has no effect: '\(name.bare)' \(reason), and therefore not persisted. Remove it."
  }

  /// The reason why a transient property cannot be left to the program's initializers; nil if there is none.
  fileprivate var transientProblem: String? {
    let isKnown = head.attributes.isSubset(of: ["Transient", "available", "MainActor", "preconcurrency"])
    guard head.attributes.contains("Transient"), isKnown, !head.isStatic, bindings.first?.accessors != .computed,
      needsInitialValue
    else { return nil }
    return "The transient property '\(name.bare)' needs an initial value, because objects that are fetched are "
      + "created without your initializers."
  }
}
