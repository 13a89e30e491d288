// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The entities of `version-hashes.txt`, whose header describes its lines.
struct VersionHashTable: Sendable {
  /// An entity with what Apple's tools computed for it.
  struct Entity: Sendable {
    let name: String
    var isAbstract = false
    var parentName: String?
    /// The first digits of the parent's hash; nil if the entity has no parent.
    var parentHash: String?
    var modifier: String?
    var uniquenessConstraints: [[String]] = []
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    /// The hash in hexadecimal digits.
    let hash: String
  }

  /// What attributes and relationships have in common.
  struct Traits: Sendable {
    var isOptional = false
    var isTransient = false
    var modifier: String?
    /// The hash in hexadecimal digits; nil if no file shows it.
    var hash: String?
  }

  struct Attribute: Sendable {
    let name: String
    let type: NSAttributeType
    var traits: Traits
    var isExternal = false
    var isPreserved = false
  }

  struct Relationship: Sendable {
    let name: String
    let destinationName: String
    let inverseName: String?
    let minCount: Int
    /// The maximum; 0 means any number.
    let maxCount: Int
    var isOrdered = false
    var traits: Traits
  }

  /// A line that is not as the header says.
  struct Unreadable: Error {
    let line: String
  }

  private(set) var entities: [Entity] = []

  /// Reads the table.
  init() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("version-hashes.txt")
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
      guard read(line) else { throw Unreadable(line: String(line)) }
    }
  }

  /// An entity and its ancestors, the nearest first; nil if one of them is not in the table.
  func chain(of entity: Entity) -> [Entity]? {
    var chain = [entity]
    while let last = chain.last, let name = last.parentName, let hash = last.parentHash {
      guard let parent = entities.first(where: { $0.name == name && $0.hash.hasPrefix(hash) }) else { return nil }
      chain.append(parent)
    }
    return chain
  }

  private static let types: [String: NSAttributeType] = [
    "integer16": .integer16AttributeType, "integer32": .integer32AttributeType,
    "integer64": .integer64AttributeType, "decimal": .decimalAttributeType, "double": .doubleAttributeType,
    "float": .floatAttributeType, "string": .stringAttributeType, "boolean": .booleanAttributeType,
    "date": .dateAttributeType, "binaryData": .binaryDataAttributeType, "uuid": .UUIDAttributeType,
    "transformable": .transformableAttributeType,
  ]

  /// Reads a line; false if it cannot be read.
  private mutating func read(_ line: Substring) -> Bool {
    var words = line.split(separator: " ").compactMap { String($0).removingPercentEncoding }
    var hash: String?
    if words.count > 2, words[words.count - 2] == "=" {
      hash = words.removeLast()
      words.removeLast()
    }
    guard words.count > 1 else { return false }
    if line.hasPrefix("entity ") {
      guard let hash, let entity = Self.entity(words, hash: hash) else { return false }
      entities.append(entity)
      return true
    }
    guard !entities.isEmpty else { return false }
    if words[1] == "->" {
      guard let relationship = Self.relationship(words, hash: hash) else { return false }
      entities[entities.count - 1].relationships.append(relationship)
    } else {
      guard let attribute = Self.attribute(words, hash: hash) else { return false }
      entities[entities.count - 1].attributes.append(attribute)
    }
    return true
  }

  private static func entity(_ words: [String], hash: String) -> Entity? {
    var entity = Entity(name: words[1], hash: hash)
    for word in words.dropFirst(2) {
      if word == "abstract" {
        entity.isAbstract = true
      } else if let parent = value(of: "parent", in: word)?.split(separator: ":"), parent.count == 2 {
        entity.parentName = String(parent[0])
        entity.parentHash = String(parent[1])
      } else if let modifier = value(of: "modifier", in: word) {
        entity.modifier = modifier
      } else if let constraints = value(of: "unique", in: word) {
        entity.uniquenessConstraints = constraints.split(separator: ",").map {
          $0.split(separator: ".").map(String.init)
        }
      } else {
        return nil
      }
    }
    return entity
  }

  private static func attribute(_ words: [String], hash: String?) -> Attribute? {
    guard let type = types[words[1]] else { return nil }
    var attribute = Attribute(name: words[0], type: type, traits: Traits(hash: hash))
    for word in words.dropFirst(2) where !read(word, into: &attribute.traits) {
      switch word {
      case "external": attribute.isExternal = true
      case "preserved": attribute.isPreserved = true
      default: return nil
      }
    }
    return attribute
  }

  private static func relationship(_ words: [String], hash: String?) -> Relationship? {
    guard words.count > 3 else { return nil }
    let ends = words[2].split(separator: ".").map(String.init)
    let range = words[3].components(separatedBy: "...")
    guard let destination = ends.first, range.count == 2, let minimum = Int(range[0]) else { return nil }
    var relationship = Relationship(
      name: words[0], destinationName: destination, inverseName: ends.count > 1 ? ends[1] : nil, minCount: minimum,
      maxCount: Int(range[1]) ?? 0, traits: Traits(hash: hash))
    for word in words.dropFirst(4) where !read(word, into: &relationship.traits) {
      guard word == "ordered" else { return nil }
      relationship.isOrdered = true
    }
    return relationship
  }

  /// Reads a word that attributes and relationships have in common; false if it is none.
  private static func read(_ word: String, into traits: inout Traits) -> Bool {
    switch word {
    case "optional": traits.isOptional = true
    case "transient": traits.isTransient = true
    default:
      guard let modifier = value(of: "modifier", in: word) else { return false }
      traits.modifier = modifier
    }
    return true
  }

  private static func value(of key: String, in word: String) -> String? {
    word.hasPrefix(key + "=") ? String(word.dropFirst(key.count + 1)) : nil
  }
}
