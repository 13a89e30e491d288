// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

// `@_PersistedProperty`, which `@Model` puts on each persisted property.
extension MacroExpansion {
  /// Adds the accessors of a persisted property.
  mutating func expandAccessors(_ request: ExpansionRequest) {
    guard let property = request.property else { return }
    let type = request.lexicalContext?.first.map { TypeHead($0, in: nil).name } ?? "Self"
    add(Self.accessors(of: property.name, in: type, isTransformable: property.isTransformable))
  }

  /// Returns the accessors of a property. Reading and writing a property runs nothing else of the generated code.
  ///
  /// Reading makes one key path, because that takes as long as looking a value up.
  private static func accessors(of name: PropertyName, in type: String, isTransformable: Bool) -> String {
    let (get, set) =
      isTransformable ? ("getTransformableValue", "setTransformableValue") : ("getValue", "setValue")
    let (key, storage) = (name.spelling, name.storage)
    return """
      {
        @storageRestrictions(accesses: _$backingData, initializes: \(storage))
        init(initialValue) {
          _$backingData.\(set)(forKey: \\.\(key), to: initialValue)
          \(storage) = _SwiftDataNoType()
        }
        get {
          let key = \\\(type).\(key)
          _$observationRegistrar.access(self, keyPath: key)
          return self.\(get)(forKey: key)
        }
        set {
          _$observationRegistrar.withMutation(of: self, keyPath: \\.\(key)) {
            self.\(set)(forKey: \\.\(key), to: newValue)
          }
        }
      }
      """
  }

  /// Adds the property that is there instead of a stored one.
  mutating func expandStorage(_ request: ExpansionRequest) {
    guard let property = request.property else { return }
    add("private var \(property.name.storage): _SwiftDataNoType = _SwiftDataNoType()")
  }
}

extension ExpansionRequest {
  /// The property with the attribute, if the declaration is one.
  fileprivate var property: PropertyDeclaration? {
    guard case .property(let property)? = declSyntax?.tokens.memberDeclarations(in: 0..<Int.max).first else {
      return nil
    }
    return property
  }
}
