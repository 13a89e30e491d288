// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The names in Objective-C of a module's classes: what `@objc(Name)` says on Apple's systems.
///
/// The plug-in `CoreDataModels` generates a class `ObjectiveCNames` that conforms to it in each module whose sources it
/// translates, and the framework finds that class by its name. An addition to Apple's API.
public protocol ObjectiveCNaming {
  /// The classes by their names in models, mapping models and archives.
  static var classes: [String: AnyClass] { get }
}

/// The classes of the program by the names that models, mapping models and archives use for them, without a module.
enum ProgramClasses {
  /// Returns the class of a name without a module: as `@objc` names it, or else by its name in Swift, in the modules that
  /// have resources beside the executable.
  static func named(_ name: String) -> AnyClass? {
    guard !name.contains("."), !name.isEmpty else { return nil }
    return objectiveC(name) ?? modules.lazy.compactMap { NSClassFromString("\($0).\(name)") }.first
  }

  /// Returns the class that `@objc` gives a name.
  static func objectiveC(_ name: String) -> AnyClass? { objectiveCNames[name] }

  /// Returns the name that `@objc` gives a class.
  static func objectiveCName(of type: AnyClass) -> String? { namesOfClasses[ObjectIdentifier(type)] }

  private static let namesOfClasses = Dictionary(
    objectiveCNames.map { (ObjectIdentifier($0.value), $0.key) }, uniquingKeysWith: min)

  private static let objectiveCNames: [String: AnyClass] = {
    var names: [String: AnyClass] = [:]
    for module in modules {
      guard let known = NSClassFromString("\(module).ObjectiveCNames") as? any ObjectiveCNaming.Type else { continue }
      for (name, type): (String, AnyClass) in known.classes where names[name] == nil {
        names[name] = type
      }
    }
    return names
  }()

  /// The modules of the targets that have resources, `Package_Target.resources`, beside the executable. A package's name may
  /// contain the character that separates it from the target's.
  private static let modules: [String] = ModelSearch.program.folders.flatMap { folder -> [String] in
    let name = folder.deletingPathExtension().lastPathComponent
    guard ["resources", "bundle"].contains(folder.pathExtension) else { return [] }
    return name.indices.filter { name[$0] == "_" }.map { position in
      String(name[name.index(after: position)...].map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
    }.filter { !$0.isEmpty && $0.first?.isNumber == false }
  }
}
