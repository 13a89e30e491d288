// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSourceCode
import Testing

@Suite("Accessors")
struct AccessorsTests {
  @Test("read and write through the constant of their property")
  func text() {
    #expect(
      Accessors.body(of: "name")
        == "{ get { Self.managedProperty_name[self] } set { Self.managedProperty_name[self] = newValue } }")
    #expect(
      Accessors.declaration(for: "name", "String!")
        == #"private static let managedProperty_name = ManagedProperty<String?>("name")"#)
  }
}
