// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration

/// The content of a store that a migration may drop. An addition to Apple's interface.
///
/// `true` allows every loss and `false` none. A list names entities, with all their content, and properties:
/// `["Legacy", "Order.note"]`. The names may be those of any version on the path. Any other loss stops the migration.
public struct AllowedLosses: Hashable, Sendable, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
  /// Kinds of content.
  package enum Content: Hashable, Sendable, CaseIterable {
    case rows, values, links
  }

  /// Content that may be dropped.
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

  /// No loss is allowed.
  public static let none = AllowedLosses(items: [])
  /// Every loss is allowed.
  public static let all = AllowedLosses(items: [Item(contents: Set(Content.allCases), entity: nil, property: nil)])

  /// Allows losses in the named places.
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

  /// Allows every loss, or none.
  public init(booleanLiteral value: Bool) {
    self = value ? .all : .none
  }

  /// Allows losses in the named places, like `init(places:)`.
  public init(arrayLiteral elements: String...) {
    self.init(places: elements)
  }

  /// Returns the losses that are not allowed.
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
