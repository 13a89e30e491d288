// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Testing

@Suite("Value transformers with Foundation's names")
struct NamedTransformerTests {
  @Test("Are registered from the start")
  func names() {
    let names = Set(ValueTransformer.valueTransformerNames().map(\.rawValue))
    #expect(
      names.isSuperset(of: [
        "NSNegateBoolean", "NSIsNil", "NSIsNotNil", "NSUnarchiveFromData", "NSKeyedUnarchiveFromData",
        "NSSecureUnarchiveFromData",
      ]))
    let named = ValueTransformer(forName: .init("NSSecureUnarchiveFromDataTransformer"))
    #expect(named != nil && named === ValueTransformer(forName: .secureUnarchiveFromDataTransformerName))
  }

  @Test("Transform what they say")
  func values() throws {
    let negate = try #require(ValueTransformer(forName: .negateBooleanTransformerName))
    #expect(negate.transformedValue(true) as? Bool == false && negate.transformedValue(nil) as? Bool == true)
    #expect(negate.reverseTransformedValue(false) as? Bool == true)
    #expect(ValueTransformer(forName: .isNilTransformerName)?.transformedValue(nil) as? Bool == true)
    #expect(ValueTransformer(forName: .isNotNilTransformerName)?.transformedValue("a") as? Bool == true)
    for name in [NSValueTransformerName.secureUnarchiveFromDataTransformerName, .keyedUnarchiveFromDataTransformerName]
    {
      let archiver = try #require(ValueTransformer(forName: name))
      let data = try #require(archiver.reverseTransformedValue(["a", "b"] as NSArray) as? Data)
      #expect(archiver.transformedValue(data) as? NSArray == ["a", "b"] as NSArray)
      #expect(archiver.transformedValue(Data([1])) == nil && archiver.transformedValue(nil) == nil)
    }
  }
}
