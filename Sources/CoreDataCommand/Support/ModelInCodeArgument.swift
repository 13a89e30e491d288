// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

extension ModelInCode {
  /// A paragraph for the help of commands that take models in code.
  static let help =
    "In a package with SwiftData, swift package coredata takes the name of a SchemaMigrationPlan or a VersionedSchema as "
    + "MODEL, such as ShopMigrationPlan or ShopMigrationPlan@1.0.0: no file is needed."

  /// Finds the model named by an argument without its version; nil if it names a file, or what may be one.
  ///
  /// - Throws: `CommandFailure` for the name of a type that is unknown; the problem of a schema that cannot be stored.
  init?(argument name: String) throws {
    guard Self.isTypeName(name), !FileCalls.exists(URL(fileURLWithPath: name)) else { return nil }
    do {
      if let found = try ModelInCode.named(name) {
        self = found
        return
      }
    } catch {
      throw CommandFailure(.invalidModel, "\(name): \(CommandFailure(error).message)")
    }
    throw CommandFailure(
      .invalidModel,
      ModelInCode.areKnown
        ? "There is no file \(name), and the package has no SchemaMigrationPlan or VersionedSchema of that name. Write "
          + "it with the types around it, as in Schemas.ShopMigrationPlan. It must not be private."
        : "There is no file \(name). Check the path of the model. If it is a SchemaMigrationPlan or a VersionedSchema, "
          + "run `swift package coredata` in a package that declares it and uses SwiftData.")
  }

  /// Whether a text is the name of a type, and not that of a model file.
  private static func isTypeName(_ text: String) -> Bool {
    let extensions = ["xcdatamodeld", "xcdatamodel", "momd", "mom", "omo", "sqlite", "store", "db"]
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard let last = parts.last, parts.count == 1 || !extensions.contains(last.lowercased()) else { return false }
    return parts.allSatisfy { part in
      part.first.map { $0.isLetter || $0 == "_" } == true
        && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
  }
}

extension CommandInvocation {
  /// Checks the plan of a model in code as an app does that opens a store, and reports what may be a mistake.
  ///
  /// - Parameter isRehearsed: whether stores are migrated afterwards, without the code of stages.
  /// - Throws: `CommandFailure` if the plan is not valid.
  func checkPlan(_ model: ModelArgument, isRehearsed: Bool = false) throws {
    guard let code = model.inCode else { return }
    do {
      for text in try code.check() { remark(text) }
    } catch {
      throw CommandFailure(.no, CommandFailure(error).message)
    }
    guard isRehearsed, !code.stagesWithCode.isEmpty else { return }
    remark(
      "The code of \(code.stagesWithCode.joined(separator: ", ")) is not run. Rehearse it in a test of the app: "
        + "expectMigration of SwiftDataTesting.")
  }

  /// Throws for a model in code, whose stores the app has to migrate.
  ///
  /// - Throws: `CommandFailure`.
  func requireFile(_ model: ModelArgument) throws {
    guard model.inCode != nil else { return }
    throw CommandFailure(
      .migrationImpossible,
      "The tool does not migrate stores by \(model.name), whose stages may have code. Open the store in a program of the "
        + "app, with ModelContainer(for:migrationPlan:). Nothing was changed.")
  }
}
