// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

private let program = BuiltProgram("coredata")

@Suite("Models in code", .enabled(if: program.isPresent, "The program was not built beside the tests"))
struct ModelInCodeTests {
  @Test("The name of a type leads to swift package coredata, since the tool alone has no types of an app")
  func unknown() throws {
    for name in ["ShopMigrationPlan", "Shop.Schemas.Plan", "ShopMigrationPlan@1.0.0"] {
      let run = try program.run(["model", "show", name])
      let type = name.prefix { $0 != "@" }
      #expect(run.status == 3)
      #expect(
        run.error == "error: There is no file \(type). Check the path of the model. If it is a SchemaMigrationPlan or "
          + "a VersionedSchema, run `swift package coredata` in a package that declares it and uses SwiftData.\n")
    }
  }

  @Test(
    "The name of a model file does not",
    arguments: ["Shop.xcdatamodeld", "Shop.MOM", "a/Shop", "Shop 2", "2.Shop"])
  func file(_ name: String) throws {
    let run = try program.run(["model", "show", name])
    #expect(run.status == 3)
    #expect(run.error.contains("The file does not exist."))
    #expect(!run.error.contains("swift package"))
  }
}
