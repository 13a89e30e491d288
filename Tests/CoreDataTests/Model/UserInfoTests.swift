// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("User info of descriptions")
struct UserInfoTests {
  @Test("A new description has an empty dictionary, which takes values")
  func new() {
    let properties = [
      NSPropertyDescription(), NSAttributeDescription(), NSDerivedAttributeDescription(),
      NSCompositeAttributeDescription(), NSRelationshipDescription(), NSFetchedPropertyDescription(),
      NSExpressionDescription(),
    ]
    for property in properties {
      #expect(property.userInfo?.isEmpty == true, "\(type(of: property))")
      property.userInfo?["key"] = "value"
      #expect(property.userInfo?["key"] as? String == "value")
      #expect((property.copy() as? NSPropertyDescription)?.userInfo?["key"] as? String == "value")
    }
    let entity = NSEntityDescription()
    entity.userInfo?["key"] = 1
    #expect(entity.userInfo?["key"] as? Int == 1)
    let (mapping, value) = (NSEntityMapping(), NSPropertyMapping())
    mapping.userInfo?["key"] = 2
    value.userInfo?["key"] = 3
    #expect(mapping.userInfo?["key"] as? Int == 2 && value.userInfo?["key"] as? Int == 3)
    entity.userInfo = nil
    #expect(entity.userInfo == nil)
  }

  @Test("No dictionary and an empty one are the same for equality, hashes and what is written")
  func equality() {
    let (one, other) = (CompanyModel.make(), CompanyModel.make())
    for entity in other.entities {
      entity.userInfo = nil
      for property in entity.properties where property.inheritedFrom == nil { property.userInfo = nil }
    }
    #expect(one == other && one.entityVersionHashesByName == other.entityVersionHashesByName)
    #expect(one.versionChecksum == other.versionChecksum)
    #expect(one.document == other.document)
    one.entitiesByName["Task"]?.userInfo?["key"] = "value"
    #expect(one != other && one.entityVersionHashesByName == other.entityVersionHashesByName)
  }

  @Test("Values can be set while a coordinator uses the model, by several threads")
  func inUse() throws {
    let model = CompanyModel.make()
    let context = try TemporaryStore().context(model)
    let employee = try #require(model.entitiesByName["Employee"])
    let name = try #require(employee.attributesByName["name"])
    let inherited = try #require(model.entitiesByName["Manager"]?.attributesByName["name"])
    inThreads(8) { number in
      for round in 0..<200 {
        name.userInfo = ["\(number)": "\(round)"]
        employee.userInfo = ["\(number)": "\(round)"]
        _ = inherited.userInfo?.count
      }
    }
    name.userInfo?["search"] = "interesting"
    #expect(name.userInfo?.count == 2 && employee.userInfo?.count == 1)
    #expect(inherited.userInfo?["search"] as? String == "interesting")
    context.make("Employee", ["name": "Ada"])
    try context.save()
  }
}
