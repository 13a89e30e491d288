// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

// The members that `@Model` adds to a class.
//
// The root class of a hierarchy of models has the backing data, as `any BackingData<Root>`: its type cannot change in a
// subclass. An initializer of a subclass sets the subclass's properties before there is any backing data, so these are
// kept and handed over when the backing data is first asked for.
//
// Apple's expansion marks the stored properties @Transient. The compiler does not give attributes of members to members
// that macros add, so that this would only cost time: it would have the macro expanded for each.
extension MacroExpansion {
  /// Adds the members of a model.
  mutating func addMembers(of model: ModelClass) {
    if model.isSubclass {
      addPendingValues(of: model)
    } else {
      addBackingData(of: model)
    }
    addSchemaMetadata(of: model)
    addInitializer(of: model)
    addObservation(of: model)
  }

  private mutating func addBackingData(of model: ModelClass) {
    let (name, access) = (model.name, model.type.access)
    add(
      """
      @exclusivity(unchecked) private \(Isolation.unsafe)var _$backingData: any SwiftData.BackingData<\(name)>
        = \(name).createBackingData()

      \(model.type.overridable)nonisolated var persistentBackingData: any SwiftData.BackingData<\(name)> {
        get { _$backingData }
        set { _$backingData = newValue }
      }

      \(access)\(Isolation.none(model.type))struct _SwiftDataNoType: Sendable {
        \(access)typealias Root = \(name)
        \(access)init() {}
      }

      """)
  }

  private mutating func addPendingValues(of model: ModelClass) {
    add(
      """
      private \(Isolation.unsafe)var _$backingData = SwiftData._InitialValues<\(model.name)>()

      \(model.type.overridable)nonisolated override var persistentBackingData:
        any SwiftData.BackingData<_SwiftDataNoType.Root>
      {
        get {
          _$backingData.take().apply(to: self)
          return super.persistentBackingData
        }
        set { super.persistentBackingData = newValue }
      }

      """)
  }

  /// Adds the initializer for objects that a store has. Its parameter is the only value: what the declarations of the
  /// properties set is overwritten.
  private mutating func addInitializer(of model: ModelClass) {
    let root = model.isSubclass ? "_SwiftDataNoType.Root" : model.name
    add("\(model.type.access)nonisolated required init(backingData: any SwiftData.BackingData<\(root)>) {")
    for (condition, property) in model.persisted {
      if let condition {
        add(condition)
      } else if let property {
        add("  \(property.name.storage) = _SwiftDataNoType()")
      }
    }
    if model.isSubclass {
      add("  _$backingData = SwiftData._InitialValues()")
      add("  super.init(backingData: backingData)")
    } else {
      add("  self.persistentBackingData = backingData")
    }
    add("}\n")
  }

  /// Adds what observers use. The root class of a hierarchy has the registrar, also for properties of subclasses, so that
  /// the framework finds it without knowing the class.
  private mutating func addObservation(of model: ModelClass) {
    if !model.isSubclass {
      add(
        """
        \(model.type.access)nonisolated final let _$observationRegistrar = Observation.ObservationRegistrar()

        \(model.type.access)nonisolated final var _observationRegistrar: Observation.ObservationRegistrar? {
          _$observationRegistrar
        }

        """)
    }
    add(
      """
      internal nonisolated func access<_Member>(keyPath: KeyPath<\(model.name), _Member>) {
        _$observationRegistrar.access(self, keyPath: keyPath)
      }

      internal nonisolated func withMutation<_Member, _Result>(
        keyPath: KeyPath<\(model.name), _Member>, _ mutation: () throws -> _Result
      ) rethrows -> _Result {
        try _$observationRegistrar.withMutation(of: self, keyPath: keyPath, mutation)
      }
      """)
  }
}

extension TypeHead {
  /// The modifiers of a member that subclasses override.
  var overridable: String { isOpen ? "open " : access }

  /// The modifiers of a type property that subclasses override.
  var overridableStatic: String { isFinal ? access + "static " : overridable + "class " }
}
