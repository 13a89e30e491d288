// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Schema {
  /// Uniqueness constraints of an entity, as `#Unique` states them.
  public final class Unique<T: PersistentModel>: SchemaProperty, PropertyGroups, @unchecked Sendable {
    /// The groups of properties whose combined values are unique.
    public let constraints: [[PartialKeyPath<T>]]
    /// Not used: constraints have no name.
    public var name = ""
    /// Not used: constraints have no name.
    public var originalName = ""
    /// Not used: constraints have no values.
    public var valueType: any Any.Type = Any.self

    /// Creates constraints.
    ///
    /// - Parameter constraints: the groups of properties whose combined values are unique.
    public init(_ constraints: [PartialKeyPath<T>]...) { self.constraints = constraints }

    /// Whether the property is an attribute.
    public var isAttribute: Bool { false }
    /// Whether the property is a relationship.
    public var isRelationship: Bool { false }
    /// Whether the property is not stored.
    public var isTransient: Bool { false }
    /// Whether the property can have no value.
    public var isOptional: Bool { false }
    /// Whether values are unique.
    public var isUnique: Bool { true }

    /// Returns whether both name the same properties.
    public static func == (left: Unique, right: Unique) -> Bool { left.constraints == right.constraints }
    /// Hashes the properties.
    public func hash(into hasher: inout Hasher) { hasher.combine(constraints) }

    /// The keys under which constraints are encoded.
    public enum CodingKeys: CodingKey { case constraints }

    /// Decodes the names of properties of `T`.
    public init(from decoder: any Decoder) throws {
      let names = try decoder.container(keyedBy: CodingKeys.self).decode([[String]].self, forKey: .constraints)
      constraints = try names.map { try $0.map { try ModelLayout.keyPath(of: $0, in: T.self) } }
    }

    /// Encodes the names of the properties.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(
        constraints.map { try $0.map { try ModelLayout.name(of: $0, in: T.self) } }, forKey: .constraints)
    }

    var uniqueGroups: [[AnyKeyPath]] { constraints }
    var indexGroups: [IndexGroup] { [] }
  }

  /// Indexes of an entity, as `#Index` states them.
  public final class Index<T: PersistentModel>: SchemaProperty, PropertyGroups, @unchecked Sendable {
    /// An index over properties of a model.
    public enum Types<P: PersistentModel>: Hashable {
      /// An index for comparisons and sorting.
      case binary([PartialKeyPath<P>])
      /// An index for ranges of numbers.
      case rtree([PartialKeyPath<P>])
    }

    /// The indexes.
    public let indices: [Types<T>]
    /// Not used: constraints have no name.
    public var name = ""
    /// Not used: constraints have no name.
    public var originalName = ""
    /// Not used: constraints have no values.
    public var valueType: any Any.Type = Any.self

    /// Creates indexes for comparisons and sorting.
    public init(_ indices: [PartialKeyPath<T>]...) { self.indices = indices.map { .binary($0) } }

    /// Creates indexes.
    public init(_ indices: Types<T>...) { self.indices = indices }

    /// Whether the property is an attribute.
    public var isAttribute: Bool { false }
    /// Whether the property is a relationship.
    public var isRelationship: Bool { false }
    /// Whether the property is not stored.
    public var isTransient: Bool { false }
    /// Whether the property can have no value.
    public var isOptional: Bool { false }
    /// Whether values are unique.
    public var isUnique: Bool { false }

    /// Returns whether both name the same properties.
    public static func == (left: Index, right: Index) -> Bool { left.indices == right.indices }
    /// Hashes the properties.
    public func hash(into hasher: inout Hasher) { hasher.combine(indices) }

    /// The keys under which indexes are encoded.
    public enum CodingKeys: CodingKey { case indices }

    private struct Encoded: Codable {
      var isRTree: Bool
      var names: [String]
    }

    /// Decodes the names of properties of `T`.
    public init(from decoder: any Decoder) throws {
      let encoded = try decoder.container(keyedBy: CodingKeys.self).decode([Encoded].self, forKey: .indices)
      indices = try encoded.map { index in
        let paths = try index.names.map { try ModelLayout.keyPath(of: $0, in: T.self) }
        return index.isRTree ? .rtree(paths) : .binary(paths)
      }
    }

    /// Encodes the names of the properties.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      let encoded = try indices.map { index in
        switch index {
        case .binary(let paths):
          Encoded(isRTree: false, names: try paths.map { try ModelLayout.name(of: $0, in: T.self) })
        case .rtree(let paths):
          Encoded(isRTree: true, names: try paths.map { try ModelLayout.name(of: $0, in: T.self) })
        }
      }
      try container.encode(encoded, forKey: .indices)
    }

    var uniqueGroups: [[AnyKeyPath]] { [] }
    var indexGroups: [IndexGroup] {
      indices.map { index in
        switch index {
        case .binary(let paths): IndexGroup(isRTree: false, keyPaths: paths)
        case .rtree(let paths): IndexGroup(isRTree: true, keyPaths: paths)
        }
      }
    }
  }
}

/// Properties of one index.
struct IndexGroup {
  var isRTree: Bool
  var keyPaths: [AnyKeyPath]
}

/// Constraints and indexes, without the type of the model.
protocol PropertyGroups {
  var uniqueGroups: [[AnyKeyPath]] { get }
  var indexGroups: [IndexGroup] { get }
}
