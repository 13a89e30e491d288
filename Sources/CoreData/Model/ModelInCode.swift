// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A model that a program declares in Swift, such as the schemas of a SwiftData migration plan.
package struct ModelInCode {
  /// The versions, the oldest first, with names such as `1.0.0`.
  package let versions: [ModelBundle.Version]
  /// The names of the stages between them that run code of the program.
  package let stagesWithCode: [String]
  /// Checks the stages; returns what may be a mistake, as sentences.
  package let check: () throws -> [String]

  package init(
    versions: [ModelBundle.Version], stagesWithCode: [String] = [],
    check: @escaping () throws -> [String] = { [] }
  ) {
    (self.versions, self.stagesWithCode, self.check) = (versions, stagesWithCode, check)
  }

  /// Returns the model that a type of the program declares; nil if there is no such type.
  ///
  /// The class that finds models is in SwiftData, which is linked only into programs that use it.
  ///
  /// - Parameter name: the name of the type, after those of the types around it, with or without the module's.
  /// - Throws: the problem of a schema that cannot be stored.
  package static func named(_ name: String) throws -> ModelInCode? {
    try finder?.model(named: name, in: ProgramClasses.addedModules)
  }

  /// Whether the program has the modules of an app that uses SwiftData.
  package static var areKnown: Bool { ProgramClasses.areAdded && finder != nil }

  private static var finder: (any ModelFinding.Type)? {
    NSClassFromString("SwiftData.SchemaFinder") as? any ModelFinding.Type
  }
}

/// A class that finds models in code.
package protocol ModelFinding: AnyObject {
  /// Returns the model that a type declares; nil if the modules do not have such a type.
  static func model(named name: String, in modules: [String]) throws -> ModelInCode?
}
