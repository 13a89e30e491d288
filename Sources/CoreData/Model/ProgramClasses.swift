// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Objective-C names of a module's classes, which `@objc(Name)` declares on Apple's systems.
///
/// The plug-in `CoreDataModels` generates a class `ObjectiveCNames` that conforms to this protocol in each module whose
/// sources it translates. The framework finds that class by its name. An addition to Apple's API.
public protocol ObjectiveCNaming {
  /// The classes by their names in models, mapping models and archives.
  static var classes: [String: AnyClass] { get }
}

/// The preparation of an app before its stores are opened, for programs other than the app: `swift package coredata`
/// and `coredata … --policies`. They look in each module for a class `CoreDataPreparation` that conforms to this
/// protocol.
///
/// ```swift
/// final class CoreDataPreparation: ProgramPreparing {
///   static func prepare() {
///     ValueTransformer.setValueTransformer(ColorTransformer(), forName: ColorTransformer.name)
///   }
/// }
/// ```
///
/// An addition to Apple's API.
public protocol ProgramPreparing: AnyObject {
  /// Registers value transformers, and classes whose names differ from those in the model.
  static func prepare()
}

/// The classes of the program by the names that models, mapping models and archives use for them, without a module.
package enum ProgramClasses {
  /// Whether modules have been added.
  package static var areAdded: Bool { modules.areAdded }

  /// The modules that have been added; none if `add(modules:)` was not called.
  package static var addedModules: [String] { areAdded ? modules.modules : [] }

  /// Adds modules in which classes are found, and makes the modules prepare what their stores need.
  ///
  /// Call it before models are read: names that have already been looked up without success may remain missing.
  package static func add(modules added: [String]) {
    known.value = KnownModules(modules.modules + added.filter { !modules.modules.contains($0) }, areAdded: true)
    for module in added {
      (NSClassFromString("\(module).CoreDataPreparation") as? any ProgramPreparing.Type)?.prepare()
    }
  }

  /// Returns the class with a name without a module: the name given by `@objc`, or else the name in Swift. Searches
  /// added modules, and those with resources beside the executable.
  static func named(_ name: String) -> AnyClass? {
    guard !name.contains("."), !name.isEmpty else { return nil }
    return objectiveC(name) ?? modules.modules.lazy.compactMap { NSClassFromString("\($0).\(name)") }.first
  }

  /// Returns the class to which `@objc` gives a name.
  static func objectiveC(_ name: String) -> AnyClass? { modules.classes[name] }

  /// Returns the name that `@objc` gives to a class.
  static func objectiveCName(of type: AnyClass) -> String? { modules.names[ObjectIdentifier(type)] }

  private static let known = Guarded(KnownModules(besideExecutable))
  private static var modules: KnownModules { known.value }

  /// Modules, and the classes in them that `@objc` names.
  private struct KnownModules {
    let modules: [String]
    let areAdded: Bool
    let classes: [String: AnyClass]
    let names: [ObjectIdentifier: String]

    init(_ modules: [String], areAdded: Bool = false) {
      (self.modules, self.areAdded) = (modules, areAdded)
      var classes: [String: AnyClass] = [:]
      for module in modules {
        guard let known = NSClassFromString("\(module).ObjectiveCNames") as? any ObjectiveCNaming.Type else { continue }
        for (name, type): (String, AnyClass) in known.classes where classes[name] == nil { classes[name] = type }
      }
      self.classes = classes
      names = Dictionary(classes.map { (ObjectIdentifier($0.value), $0.key) }, uniquingKeysWith: min)
    }
  }

  /// The modules of the targets with resources, `Package_Target.resources`, beside the executable. A package's name may
  /// contain the character that separates it from the target's.
  private static let besideExecutable: [String] = ModelSearch.program.folders.flatMap { folder -> [String] in
    let name = folder.deletingPathExtension().lastPathComponent
    guard ["resources", "bundle"].contains(folder.pathExtension) else { return [] }
    return name.indices.filter { name[$0] == "_" }.map { position in
      String(name[name.index(after: position)...].map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
    }.filter { !$0.isEmpty && $0.first?.isNumber == false }
  }
}
