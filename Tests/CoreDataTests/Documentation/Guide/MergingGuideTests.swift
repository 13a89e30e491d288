// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Merging entities".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: merge-policy
/// Turns a supplier into the party that has its email address already, if there is one.
final class MergeByEmail: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let email = source.value(forKey: "email") as? String
    let request = NSFetchRequest<NSManagedObject>(entityName: "Party")
    request.predicate = NSPredicate(format: "email ==[c] %@", email ?? "")
    guard email != nil, let party = try manager.destinationContext.fetch(request).first else {
      return try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }
    party.setValue(source.value(forKey: "iban"), forKey: "iban")
    manager.associate(sourceInstance: source, withDestinationInstance: party, for: mapping)
  }
}
// end

@Suite("The guide on merging entities")
struct MergingGuideTests {
  private static let uniqueError = """
    Rows of entity 'Party' have the same value of 'email', which must be unique in the new model:
    'ada@example.org' (2 rows).
    """

  private static let hierarchyError = """
    Entity 'Supplier' inherits from 'Customer' in the destination, but their hierarchies were separate in the
    source; existing hierarchies cannot be merged.
    """

  private static let two = """
    <entity name="Customer">
      <attribute name="email" optional="YES" attributeType="String"/>
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="orders" optional="YES" toMany="YES" destinationEntity="Order" inverseName="customer"/>
    </entity>
    <entity name="Supplier">
      <attribute name="email" optional="YES" attributeType="String"/>
      <attribute name="iban" optional="YES" attributeType="String"/>
      <attribute name="title" optional="YES" attributeType="String"/>
    </entity>
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <relationship name="customer" optional="YES" maxCount="1" destinationEntity="Customer" inverseName="orders"/>
    </entity>
    """
  private static let one = """
    <entity name="Party">
      <attribute name="email" optional="YES" attributeType="String"/>
      <attribute name="iban" optional="YES" attributeType="String"/>
      <attribute name="kind" attributeType="String" defaultValueString="customer"/>
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="orders" optional="YES" toMany="YES" destinationEntity="Order" inverseName="customer"/>
    </entity>
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <relationship name="customer" optional="YES" maxCount="1" destinationEntity="Party" inverseName="orders"/>
    </entity>
    """
  /// With unique e-mail addresses.
  private static let constrained = one.replacingOccurrences(
    of: "</entity>\n<entity name=\"Order\">",
    with: "  <uniquenessConstraints><uniquenessConstraint><constraint value=\"email\"/></uniquenessConstraint>"
      + "</uniquenessConstraints>\n</entity>\n<entity name=\"Order\">")
  private static let merged = """
    versions "Shop" -> "Shop 2"

    CustomerToParty   transform   Customer -> Party
      email   attribute     $source.email
      iban    attribute     no expression
      kind    attribute     "customer"
      name    attribute     $source.name
      orders  relationship  FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "orders", $source.orders)

    SupplierToParty   transform   Supplier -> Party
      email   attribute     $source.email
      iban    attribute     $source.iban
      kind    attribute     "supplier"
      name    attribute     $source.title

    OrderToOrder   transform   Order -> Order
      number    attribute     $source.number
      customer  relationship  FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "customer", $source.customer)
    """

  private static let mergePrinted = """
    Order: 1 rows before, 1 after
    Party: 3 rows before, 3 after
    """

  private func shop(_ second: String) throws -> GuideVersions {
    let shop = try GuideVersions("Shop", [Self.two, second])
    try shop.fill { context in
      let ada = context.make("Customer", ["email": "ada@example.org", "name": "Ada"])
      context.make("Order", ["number": 1]).setValue(ada, forKey: "customer")
      context.make("Supplier", ["email": "acme@example.org", "iban": "GB33", "title": "Acme"])
      context.make("Supplier", ["email": "Ada@example.org", "iban": "GB44", "title": "Lovelace Ltd."])
    }
    return shop
  }

  @Test("Two mappings lead to one entity")
  func merge() throws {
    let shop = try shop(Self.one)
    let mappingURL = try shop.write(Self.merged, to: "Shop.mapping")
    let (modelURL, storeURL) = (shop.modelURL, shop.storeURL)
    // guide: merge
    let migration = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL])
    let report = try migration.run()
    let lines = report.rows.sorted { $0.key < $1.key }.map { entity, rows in
      "\(entity): \(rows.before) rows before, \(rows.after) after"
    }
    print(lines.joined(separator: "\n"))
    // end
    #expect(lines.joined(separator: "\n") == Self.mergePrinted)
    #expect(
      try shop.rows("Party", "kind", "name", "email", "iban", version: 2) == [
        "customer, Ada, ada@example.org, nil", "supplier, Acme, acme@example.org, GB33",
        "supplier, Lovelace Ltd., Ada@example.org, GB44",
      ])
    #expect(try shop.rows("Order", "number", "customer.name", version: 2) == ["1, Ada"])
  }

  @Test("A policy keeps one object of two that are the same")
  func mergeRows() throws {
    MigrationPolicyClasses.register(MergeByEmail.self)
    let shop = try shop(Self.one)
    let text = Self.merged.replacingOccurrences(
      of: "SupplierToParty   transform   Supplier -> Party",
      with: "SupplierToParty   custom   Supplier -> Party\n  policy  MergeByEmail")
    let mappingURL = try shop.write(text, to: "Shop.mapping")
    let report = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.sql, .objects, .sql])
    #expect(
      try shop.rows("Party", "kind", "name", "email", "iban", version: 2) == [
        "customer, Ada, ada@example.org, GB44", "supplier, Acme, acme@example.org, GB33",
      ])
  }

  @Test("A uniqueness constraint is checked at the end: 134111")
  func unique() throws {
    let shop = try GuideVersions("Shop", [Self.two, Self.constrained])
    try shop.fill { context in
      context.make("Customer", ["email": "ada@example.org", "name": "Ada"])
      context.make("Supplier", ["email": "ada@example.org", "title": "Lovelace Ltd."])
    }
    let mappingURL = try shop.write(Self.merged, to: "Shop.mapping")
    try shop.expectFailure(NSMigrationConstraintViolationError, Self.uniqueError, mappings: [mappingURL])
  }

  @Test("Values that differ in case are different to a constraint")
  func uniqueByCase() throws {
    let shop = try shop(Self.constrained)
    let mappingURL = try shop.write(Self.merged, to: "Shop.mapping")
    let report = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(report.rows["Party"]?.after == 3)
  }

  @Test("A policy that keeps one object satisfies the constraint")
  func uniqueByPolicy() throws {
    MigrationPolicyClasses.register(MergeByEmail.self)
    let shop = try GuideVersions("Shop", [Self.two, Self.constrained])
    try shop.fill { context in
      context.make("Customer", ["email": "ada@example.org", "name": "Ada"])
      context.make("Supplier", ["email": "ada@example.org", "title": "Lovelace Ltd."])
    }
    let text = Self.merged.replacingOccurrences(
      of: "SupplierToParty   transform   Supplier -> Party",
      with: "SupplierToParty   custom   Supplier -> Party\n  policy  MergeByEmail")
    let mappingURL = try shop.write(text, to: "Shop.mapping")
    let report = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL, mappings: [mappingURL]).run()
    #expect(report.rows["Party"]?.after == 1)
  }

  private static let parent = """
    <entity name="Party" isAbstract="YES">
      <attribute name="email" optional="YES" attributeType="String"/>
      <attribute name="name" optional="YES" attributeType="String"/>
    </entity>
    <entity name="Customer" parentEntity="Party">
      <relationship name="orders" optional="YES" toMany="YES" destinationEntity="Order" inverseName="customer"/>
    </entity>
    <entity name="Supplier" parentEntity="Party">
      <attribute name="iban" optional="YES" attributeType="String"/>
    </entity>
    <entity name="Order">
      <attribute name="number" optional="YES" attributeType="Integer 32"/>
      <relationship name="customer" optional="YES" maxCount="1" destinationEntity="Customer" inverseName="orders"/>
    </entity>
    """

  @Test("A new common parent is inferred, and keeps what both have")
  func commonParent() throws {
    let shop = try shop(Self.parent)
    let migration = try StoreMigration(storeAt: shop.storeURL, modelsAt: shop.modelURL)
    #expect(migration.steps.map(\.isInPlace) == [true])
    _ = try migration.run()
    #expect(try shop.rows("Supplier", "iban", version: 2) == ["GB33", "GB44"])
    #expect(try shop.rows("Order", "number", "customer.name", version: 2) == ["1, Ada"])
  }

  @Test("One of two entities cannot become the parent of the other: 134190")
  func hierarchies() throws {
    let below = Self.two.replacingOccurrences(
      of: "<entity name=\"Supplier\">", with: "<entity name=\"Supplier\" parentEntity=\"Customer\">"
    )
    .replacingOccurrences(
      of: "  <attribute name=\"email\" optional=\"YES\" attributeType=\"String\"/>\n  <attribute name=\"iban\"",
      with: "  <attribute name=\"iban\"")
    let shop = try shop(below)
    try shop.expectFailure(NSInferredMappingModelError, Self.hierarchyError)
  }
}
