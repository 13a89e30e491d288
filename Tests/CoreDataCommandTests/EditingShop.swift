// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

/// A directory with a model of every type of attribute and relationship, and an empty store of it; removed at the end
/// of its life.
final class EditingShop {
  private let directory: TemporaryDirectory
  var model: String { path("Shop.xcdatamodeld") }
  var store: String { path("Shop.sqlite") }

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(Self.contents, to: "Shop.xcdatamodeld/Shop.xcdatamodel/contents")
    let run = CommandRun("store", "create", store, model)
    try #require(run.status == .done, "\(run.error)")
  }

  func path(_ name: String) -> String { directory.path(name) }
  func files() throws -> [String] { try directory.files() }

  /// Writes a file, and imports it into a store.
  @discardableResult
  func load(_ text: String, _ name: String = "data.jsonl", into store: String? = nil, _ options: String...) throws
    -> CommandRun
  {
    try directory.write(text, to: name)
    return CommandRun(["store", "import", store ?? self.store, path(name), "--no-backup"] + options)
  }

  /// What a store exports, as lines without the UUID in identifiers.
  func export(_ store: String? = nil, _ options: String...) -> [String] {
    let run = CommandRun(["store", "export", store ?? self.store, "--quiet"] + options)
    #expect(run.status == .done, "\(run.error)")
    return run.output.replacing(/x-coredata:\/\/[^\/]*\//, with: "").split(separator: "\n").map(String.init)
  }

  /// Two customers, the first with two orders of three items.
  static let rows = """
    {"entity":"Customer","id":"c1","values":{"email":"ann@example.com","name":"Ann"}}
    {"entity":"Customer","id":"c2","values":{"email":"bob@example.com","name":"Bob"}}
    {"entity":"Order","id":"o1","values":{"number":1,"customer":"c1","items":["i2","i1"]}}
    {"entity":"Order","id":"o2","values":{"number":2,"customer":"c1","items":["i3"]}}
    {"entity":"Item","id":"i1","values":{"title":"Tea"}}
    {"entity":"Item","id":"i2","values":{"title":"Rice"}}
    {"entity":"Item","id":"i3","values":{"title":"Oil"}}

    """

  private static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    <entity name="Customer">
    <attribute name="address" optional="YES" attributeType="Composite" composite="Address"/>
    <attribute name="email" optional="YES" attributeType="String"/>
    <attribute name="name" attributeType="String" minValueString="2"/>
    <attribute name="orderCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="orders.@count"/>
    <relationship name="orders" optional="YES" toMany="YES" deletionRule="Deny" destinationEntity="Order"
    inverseName="customer" inverseEntity="Order"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="email"/></uniquenessConstraint></uniquenessConstraints>
    </entity>
    <entity name="Item"><attribute name="title" optional="YES" attributeType="String"/>
    <relationship name="order" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Order"
    inverseName="items" inverseEntity="Order"/></entity>
    <entity name="Order">
    <attribute name="link" optional="YES" attributeType="URI"/>
    <attribute name="number" attributeType="Integer 16" defaultValueString="0"/>
    <attribute name="paid" optional="YES" attributeType="Boolean"/>
    <attribute name="picture" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
    <attribute name="placed" optional="YES" attributeType="Date"/>
    <attribute name="price" optional="YES" attributeType="Float"/>
    <attribute name="settings" optional="YES" attributeType="Transformable"
    valueTransformerName="NSSecureUnarchiveFromDataTransformer"/>
    <attribute name="token" optional="YES" attributeType="UUID"/>
    <attribute name="total" optional="YES" attributeType="Decimal"/>
    <attribute name="weight" optional="YES" attributeType="Double"/>
    <relationship name="customer" maxCount="1" deletionRule="Nullify" destinationEntity="Customer"
    inverseName="orders" inverseEntity="Customer"/>
    <relationship name="items" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade"
    destinationEntity="Item" inverseName="order" inverseEntity="Order"/></entity>
    <composite name="Address"><attribute name="city" optional="YES" attributeType="String"/>
    <attribute name="number" optional="YES" attributeType="Integer 32"/></composite>
    </model>
    """
}
