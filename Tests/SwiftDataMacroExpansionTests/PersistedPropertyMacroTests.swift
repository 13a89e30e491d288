// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SwiftDataMacroExpansion

@Suite("@_PersistedProperty")
struct PersistedPropertyMacroTests {
  @Test("Accessors read and write the backing data and tell observers")
  func accessors() {
    #expect(
      Expanding.accessors("@Attribute(.unique) var name: String = \"\"") == #"""
        {
          @storageRestrictions(accesses: _$backingData, initializes: _name)
          init(initialValue) {
            _$backingData.setValue(forKey: \.name, to: initialValue)
            _name = _SwiftDataNoType()
          }
          get {
            let key = \Trip.name
            _$observationRegistrar.access(self, keyPath: key)
            return self.getValue(forKey: key)
          }
          set {
            _$observationRegistrar.withMutation(of: self, keyPath: \.name) {
              self.setValue(forKey: \.name, to: newValue)
            }
          }
        }
        """#)
  }

  @Test(
    "Values of a transformable attribute go through its transformer",
    arguments: [
      "@Attribute(.transformable(by: Color.self)) var color: Color?",
      "@Attribute(.unique, .transformable(by: \"Color\"), originalName: \"x\") var color: Color?",
      "@Attribute(Schema.Attribute.Option.transformable(by: Color.self))\n  public var color: Color?",
    ])
  func transformable(property: String) {
    let source = Expanding.accessors(property)
    #expect(source.contains(#"_$backingData.setTransformableValue(forKey: \.color, to: initialValue)"#))
    #expect(source.contains("return self.getTransformableValue(forKey: key)"))
    #expect(source.contains(#"self.setTransformableValue(forKey: \.color, to: newValue)"#))
    #expect(!source.contains("etValue("))
  }

  @Test("A string that says transformable makes no attribute transformable")
  func notTransformable() {
    #expect(
      Expanding.accessors(#"@Attribute(originalName: "transformable") var a: Int"#).contains(
        "self.getValue(forKey: key)"))
  }

  @Test(
    "The storage is named after the property",
    arguments: [
      ("var name: String", "_name"), ("var `default`: Int", "_default"), ("var größe: Int", "_größe"),
      ("var `two words`: Int", "`_two words`"), ("@available(macOS 26, *)\n  private(set) var a, b: Int", "_a"),
    ])
  func storage(property: String, name: String) {
    let result = MacroExpansion.expand(Expanding.request("PersistedPropertyMacro", role: "peer", property))
    #expect(result.source == "private var \(name): _SwiftDataNoType = _SwiftDataNoType()")
  }

  @Test("A key path keeps the backticks of a name")
  func backticks() {
    #expect(Expanding.accessors("var `init`: Int").contains(#"let key = \Trip.`init`"#))
  }
}
