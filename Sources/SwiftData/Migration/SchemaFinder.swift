// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Finds migration plans and versioned schemas by their names, for `swift package coredata`, which is linked with the
/// modules that declare them. The tool knows this class by its name.
final class SchemaFinder: ModelFinding {
  static func model(named name: String, in modules: [String]) throws -> ModelInCode? {
    for type in types(named: name, in: modules) {
      if let plan = type as? any SchemaMigrationPlan.Type { return try model(of: plan) }
      if let version = type as? any VersionedSchema.Type {
        return ModelInCode(versions: [try SchemaDocuments.version(version)])
      }
    }
    return nil
  }

  private static func model(of plan: any SchemaMigrationPlan.Type) throws -> ModelInCode {
    ModelInCode(
      versions: try SchemaDocuments.versions(of: plan),
      stagesWithCode: plan.stages.filter(\.hasCode).map { "\($0.versions.from) to \($0.versions.to)" },
      check: { try plan.validate() })
  }

  // MARK: Types by name

  /// Returns the types with a name such as `ShopPlan`, `Schemas.ShopPlan` or `Shop.ShopPlan`.
  private static func types(named name: String, in modules: [String]) -> [Any.Type] {
    let parts = name.split(separator: ".").map(String.init)
    guard let first = parts.first, name.allSatisfy(\.isASCII) else { return [] }
    var places = modules.map { ($0, parts[...]) }
    // A module that the package depends on is named.
    if parts.count > 1 { places.append((first, parts.dropFirst())) }
    return places.flatMap { module, path in
      mangled(path, in: component(module)).compactMap { _typeByName($0) }
    }
  }

  /// Returns the names of types in the form of symbols (docs/ABI/Mangling.rst of the Swift project). Each of the types
  /// around one can be an enumeration, a structure or a class.
  private static func mangled(_ path: ArraySlice<String>, in context: String) -> [String] {
    guard let first = path.first else { return [context] }
    return ["O", "V", "C"].flatMap { mangled(path.dropFirst(), in: context + component(first) + $0) }
  }

  private static func component(_ name: String) -> String { "\(name.utf8.count)\(name)" }
}

extension MigrationStage {
  /// Whether it runs code of the app.
  fileprivate var hasCode: Bool {
    switch self {
    case .lightweight: false
    case .custom(_, _, let before, let after): before != nil || after != nil
    case .customReadingSource: true
    }
  }
}
