// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Splitting an entity".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: city-policy
/// Creates one city for each name, and relates the new people to it.
final class CityPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    guard let name = source.value(forKey: "city") as? String, !name.isEmpty else { return }
    let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
    made.first?.setValue(try city(name, in: manager.destinationContext), forKey: "city")
  }

  private func city(_ name: String, in context: NSManagedObjectContext) throws -> NSManagedObject {
    let request = NSFetchRequest<NSManagedObject>(entityName: "City")
    request.predicate = NSPredicate(format: "name == %@", name)
    request.fetchLimit = 1
    if let city = try context.fetch(request).first { return city }
    let city = NSEntityDescription.insertNewObject(forEntityName: "City", into: context)
    city.setValue(name, forKey: "name")
    return city
  }
}
// end

@Suite("The guide on splitting an entity")
struct SplittingGuideTests {
  private static let unreadError = """
    No expression of the mapping model 'People.mapping' reads 1 value of 'Person.street', so this content would be
    dropped.
    """

  private static let unknownMappingError = """
    The expression for the property 'address' in the entity mapping 'PersonToPerson' names the entity mapping
    'PersonToAdress', which does not exist; there are 'PersonToPerson', 'PersonToAddress'. The expression is:
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToAdress", $source).
    """

  private static let policyError = """
    There is no class 'TownPolicy', which the entity mapping 'PersonToPerson' names as its migration policy.
    """
  private static let people = """
    <entity name="Person">
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="street" optional="YES" attributeType="String"/>
      <attribute name="city" optional="YES" attributeType="String"/>
    </entity>
    """
  private static let addresses = """
    <entity name="Person">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="address" optional="YES" maxCount="1" destinationEntity="Address" inverseName="person"/>
    </entity>
    <entity name="Address">
      <attribute name="street" optional="YES" attributeType="String"/>
      <attribute name="city" optional="YES" attributeType="String"/>
      <relationship name="person" optional="YES" maxCount="1" destinationEntity="Person" inverseName="address"/>
    </entity>
    """
  private static let split = """
    versions "People" -> "People 2"

    PersonToPerson   transform   Person -> Person
      name     attribute     $source.name
      address  relationship  FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToAddress", $source)

    PersonToAddress   transform   Person -> Address
      filter  street != nil OR city != nil
      street  attribute     $source.street
      city    attribute     $source.city
      person  relationship  FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToPerson", $source)
    """

  private func people(_ second: String) throws -> GuideVersions {
    let people = try GuideVersions("People", [Self.people, second])
    try people.fill { context in
      context.make("Person", ["name": "Ada", "street": "St James's Square 12", "city": "London"])
      context.make("Person", ["name": "Alan", "city": "London"])
      context.make("Person", ["name": "Grace"])
    }
    return people
  }

  @Test("Attributes become an object of their own, where there are any")
  func split() throws {
    let people = try people(Self.addresses)
    let mappingURL = try people.write(Self.split, to: "People.mapping")
    let (modelURL, storeURL) = (people.modelURL, people.storeURL)
    // guide: split
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let report = try migration.run()
    let ways = report.mappings.map { "\($0.mapping): \($0.rows.rawValue)" }
    // end
    #expect(ways == ["PersonToPerson: sql", "PersonToAddress: sql"])
    #expect(
      try people.rows("Person", "name", "address.street", "address.city", version: 2) == [
        "Ada, St James's Square 12, London", "Alan, nil, London", "Grace, nil, nil",
      ])
    #expect(try people.rows("Address", "city", "person.name", version: 2) == ["London, Ada", "London, Alan"])
  }

  @Test("A container migrates with the mapping model, too")
  func container() throws {
    let people = try people(Self.addresses)
    let mappingURL = try people.write(Self.split, to: "People.mapping")
    let (model, storeURL) = (try people.model(2), people.storeURL)
    // The container's own search would look into the program's resources.
    let models = [people.modelURL]
    // guide: split-container
    let description = NSPersistentStoreDescription(url: storeURL)
    description.setOption([mappingURL] as NSArray, forKey: MigrationOption.mappings)
    let container = NSPersistentContainer(name: "People", managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    // end
    description.setOption(models as NSArray, forKey: MigrationOption.models)
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    #expect(try container.viewContext.count(for: NSFetchRequest<NSManagedObject>(entityName: "Address")) == 2)
  }

  @Test("Without a mapping model the values would be dropped by inference")
  func inferred() throws {
    let people = try people(Self.addresses)
    _ = try StoreMigration(storeAt: people.storeURL, modelsAt: people.modelURL).run()
    #expect(try people.rows("Person", "name", "address", version: 2) == ["Ada, nil", "Alan, nil", "Grace, nil"])
    #expect(try people.rows("Address", "city", version: 2) == [])
  }

  @Test("Values that no expression reads are an error: 134110")
  func unread() throws {
    let people = try people(Self.addresses)
    let text = Self.split.replacingOccurrences(of: "  street  attribute     $source.street\n", with: "")
    let mappingURL = try people.write(text, to: "People.mapping")
    try people.expectFailure(NSMigrationError, Self.unreadError, mappings: [mappingURL])
  }

  @Test("An expression that names an unknown mapping is an error: 134110")
  func unknownMapping() throws {
    let people = try people(Self.addresses)
    let text = Self.split.replacingOccurrences(of: "\"PersonToAddress\", $source", with: "\"PersonToAdress\", $source")
    let mappingURL = try people.write(text, to: "People.mapping")
    try people.expectFailure(NSMigrationError, Self.unknownMappingError, mappings: [mappingURL])
  }

  private static let cities = """
    <entity name="Person">
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="street" optional="YES" attributeType="String"/>
      <relationship name="city" optional="YES" maxCount="1" destinationEntity="City" inverseName="people"/>
    </entity>
    <entity name="City">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="people" optional="YES" toMany="YES" destinationEntity="Person" inverseName="city"/>
    </entity>
    """

  private static let cityMapping = """
    versions "People" -> "People 2"

    PersonToPerson   custom   Person -> Person
      policy  CityPolicy
      name    attribute  $source.name
      street  attribute  $source.street
    """

  @Test("One object for each value is the work of a policy")
  func cities() throws {
    MigrationPolicyClasses.register(CityPolicy.self)
    let people = try people(Self.cities)
    let mappingURL = try people.write(Self.cityMapping, to: "People.mapping")
    let report = try StoreMigration(storeAt: people.storeURL, modelsAt: people.modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.objects])
    #expect(
      try people.rows("Person", "name", "city.name", version: 2) == ["Ada, London", "Alan, London", "Grace, nil"])
    #expect(try people.rows("City", "name", "people.@count", version: 2) == ["London, 2"])
  }

  private static let parties = """
    <entity name="Party">
      <attribute name="kind" optional="YES" attributeType="String"/>
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="vat" optional="YES" attributeType="String"/>
      <relationship name="orders" optional="YES" toMany="YES" destinationEntity="Order" inverseName="party"/>
    </entity>
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <relationship name="party" optional="YES" maxCount="1" destinationEntity="Party" inverseName="orders"/>
    </entity>
    """
  private static let kinds = """
    <entity name="Party" isAbstract="YES">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="orders" optional="YES" toMany="YES" destinationEntity="Order" inverseName="party"/>
    </entity>
    <entity name="Company" parentEntity="Party">
      <attribute name="vat" optional="YES" attributeType="String"/>
    </entity>
    <entity name="Person" parentEntity="Party"/>
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <relationship name="party" optional="YES" maxCount="1" destinationEntity="Party" inverseName="orders"/>
    </entity>
    """
  private static let byKind = """
    versions "Shop" -> "Shop 2"

    PartyToCompany   transform   Party -> Company
      filter  kind == "company"
      drops   kind
      name    attribute     $source.name
      vat     attribute     $source.vat

    PartyToPerson   transform   Party -> Person
      filter  kind != "company"
      name    attribute     $source.name

    OrderToOrder   copy   Order -> Order
      number  attribute     $source.number
      party   relationship  FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "party", $source.party)
    """

  private func parties() throws -> GuideVersions {
    let shop = try GuideVersions("Shop", [Self.parties, Self.kinds])
    try shop.fill { context in
      let company = context.make("Party", ["kind": "company", "name": "Acme", "vat": "GB1"])
      let person = context.make("Party", ["kind": "person", "name": "Ada"])
      context.make("Party", ["name": "Unknown"])
      context.make("Order", ["number": 1]).setValue(company, forKey: "party")
      context.make("Order", ["number": 2]).setValue(person, forKey: "party")
    }
    return shop
  }

  @Test("Rows of one entity become objects of two, by their values")
  func byKind() throws {
    let shop = try parties()
    let mappingURL = try shop.write(Self.byKind, to: "Shop.mapping")
    let report = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.sql, .sql, .sql])
    #expect(
      try shop.rows("Order", "number", "party.name", "party.entity.name", version: 2) == [
        "1, Acme, Company", "2, Ada, Person",
      ])
    #expect(try shop.rows("Person", "name", version: 2) == ["Ada", "Unknown"])
    #expect(try shop.rows("Company", "name", "vat", version: 2) == ["Acme, GB1"])
  }

  @Test("Rows that no filter takes are dropped without an error; the report counts them")
  func leftOut() throws {
    let shop = try parties()
    let mappingURL = try shop.write(
      Self.byKind.replacingOccurrences(of: "kind != \"company\"", with: "kind == \"person\""),
      to: "Shop.mapping")
    let report = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(report.rows["Party"]?.before == 3)
    #expect(report.rows["Company"]?.after == 1 && report.rows["Person"]?.after == 1)
  }

  @Test("A policy that is not found is an error: 134110")
  func unknownPolicy() throws {
    let people = try people(Self.cities)
    let mappingURL = try people.write(
      Self.cityMapping.replacingOccurrences(of: "policy  CityPolicy", with: "policy  TownPolicy"), to: "People.mapping")
    try people.expectFailure(NSMigrationError, Self.policyError, mappings: [mappingURL])
  }
}
