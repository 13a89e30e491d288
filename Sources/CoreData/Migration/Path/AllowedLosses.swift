// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration

/// What a migration may drop of what a store holds. An addition to Apple's interface.
///
/// `true` allows everything and `false` nothing. A list names entities, of which everything may be dropped, and properties:
/// `["Legacy", "Order.note"]`. The names are those of any version on the way. What is not allowed stops the migration.
public struct AllowedLosses: Hashable, Sendable, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
  /// What can be dropped.
  package enum Content: Hashable, Sendable, CaseIterable {
    case rows, values, links
  }

  /// One thing that may be dropped.
  package struct Item: Hashable, Sendable {
    let contents: Set<Content>
    /// Nil for all entities.
    let entity: String?
    /// Nil for everything of the entity.
    let property: String?

    package init(contents: Set<Content>, entity: String?, property: String?) {
      self.contents = contents
      self.entity = entity
      self.property = property
    }
  }

  private let items: Set<Item>

  package init(items: [Item]) {
    self.items = Set(items)
  }

  /// Nothing may be dropped.
  public static let none = AllowedLosses(items: [])
  /// Everything may be dropped.
  public static let all = AllowedLosses(items: [Item(contents: Set(Content.allCases), entity: nil, property: nil)])

  /// Allows what is named.
  ///
  /// - Parameter places: entities, as `Legacy`, and properties, as `Order.note`.
  public init(places: [String]) {
    self.init(
      items: places.map { place in
        let names = place.split(separator: ".", maxSplits: 1).map(String.init)
        return Item(
          contents: Set(Content.allCases), entity: names.first ?? "", property: names.count == 2 ? names[1] : nil)
      })
  }

  /// Allows everything, or nothing.
  public init(booleanLiteral value: Bool) {
    self = value ? .all : .none
  }

  /// Allows what is named, as `init(places:)`.
  public init(arrayLiteral elements: String...) {
    self.init(places: elements)
  }

  /// Those that are not allowed.
  func refused(_ contents: [DroppedContent]) -> [DroppedContent] {
    contents.filter { content in
      !items.contains { item in
        item.contents.contains(content.kind)
          && content.places.contains { place in
            (item.entity == nil || item.entity == place.entity)
              && (item.property == nil || item.property == place.property)
          }
      }
    }
  }
}

extension DroppedContent {
  var kind: AllowedLosses.Content { property == nil ? .rows : isRelationship ? .links : .values }
}
