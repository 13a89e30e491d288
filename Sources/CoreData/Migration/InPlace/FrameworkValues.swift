// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Values that a migration in place needs of transformers and of the functions of predicates.
struct FrameworkValues: ProgramValues {
  func archivedDefault(of attribute: AttributeDocument) throws -> Data? {
    let description = NSAttributeDescription.make(from: attribute)
    guard let value = description.defaultValue, case .object(let object)? = Slot(value, for: description) else {
      throw UnwritableDefault(reason: "")
    }
    do {
      return try TransformableValues.encode(object, of: description)
    } catch {
      throw UnwritableDefault(reason: (error as NSError).localizedFailureReason ?? "\(error)")
    }
  }

  func text(_ function: String, of text: String) throws -> String? {
    try FunctionLibrary.call(function, [text]) as? String
  }
}

extension InPlaceStepRun {
  /// A step of a migration.
  ///
  /// - Throws: 134190 where no mapping can be inferred; `SchemaProblem`; `SQLiteError`.
  init(
    _ step: StoreMigration.Step, configuration: String?, file: StoreFile, cleanup: ColumnCleanup
  ) throws {
    do {
      try self.init(
        from: step.sourceModel.document, to: step.destinationModel.document, mapping: step.mappingModel.inferred,
        configuration: configuration, file: file, values: FrameworkValues(), cleanup: cleanup)
    } catch let failure as InferenceFailure {
      throw MigrationErrors.cannotInfer(failure.obstacles)
    }
  }
}
