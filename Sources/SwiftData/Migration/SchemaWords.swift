// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// Sentences about stores and schemas.
enum SchemaWords {
  /// Describes differences, with names for the two sides.
  static func text(_ differences: [VersionDifference], store: String, model: String) -> String {
    guard !differences.isEmpty else { return "The order of versions aside, they are equal." }
    let shown = differences.prefix(6).map { sentence($0, store, model) }
    let rest = differences.count - shown.count
    return (shown + (rest > 0 ? ["There are \(rest) more differences."] : [])).joined(separator: " ")
  }

  private static func sentence(_ difference: VersionDifference, _ store: String, _ model: String) -> String {
    let subject =
      difference.property.map { "The property '\(difference.entity).\($0)'" } ?? "The entity '\(difference.entity)'"
    switch difference.change {
    case .missingInModel: return "\(subject) is in \(store), but not in \(model)."
    case .missingInStore: return "\(subject) is in \(model), but not in \(store)."
    case .hash: return "\(subject) differs."
    case .aspect(let name, let first, let second):
      return "\(subject): \(name) is \(first) in \(store), \(second) in \(model)."
    }
  }

  /// Returns the properties that a version drops whose name is not the only thing that changed: another property of the
  /// same kind is new.
  static func renamings(
    _ old: NSManagedObjectModel, _ new: NSManagedObjectModel
  ) -> [(entity: String, String, String)] {
    new.entities.flatMap { entity -> [(entity: String, String, String)] in
      guard let before = old.entitiesByName[entity.renamingIdentifier ?? entity.name ?? ""] else { return [] }
      let kept = Set(entity.properties.map { $0.renamingIdentifier ?? $0.name })
      let dropped = before.properties.filter { !kept.contains($0.name) }
      let added = entity.properties.filter { before.propertiesByName[$0.renamingIdentifier ?? $0.name] == nil }
      return dropped.flatMap { first in
        added.filter { isAlike(first, $0) }.map { (entity.name ?? "", first.name, $0.name) }
      }
    }
  }

  private static func isAlike(_ first: NSPropertyDescription, _ second: NSPropertyDescription) -> Bool {
    if let first = first as? NSAttributeDescription, let second = second as? NSAttributeDescription {
      return first.attributeType == second.attributeType
    }
    guard let first = first as? NSRelationshipDescription, let second = second as? NSRelationshipDescription else {
      return false
    }
    return first.destinationEntity?.name == second.destinationEntity?.name && first.isToMany == second.isToMany
  }

  /// Asks whether a property was renamed.
  static func renamingHint(_ old: NSManagedObjectModel, _ new: NSManagedObjectModel) -> String {
    renamings(old, new).prefix(3).map { entity, first, second in
      "If '\(entity).\(first)' was renamed to '\(second)', give it originalName: \"\(first)\"."
    }.joined(separator: " ")
  }

  /// Names the version of a store: its identifiers and its checksum.
  static func version(_ metadata: [String: Any]) -> String {
    let version = StoreVersion(metadata: metadata)
    let name = version.identifiers.isEmpty ? "none" : version.identifiers.joined(separator: ", ")
    let hashes = version.hashes.sorted { $0.key < $1.key }.map { name, hash in
      "\(name) \(hash.prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())"
    }
    return "version identifier \(name), checksum \(version.checksum), entity hashes \(hashes.joined(separator: ", "))"
  }

  /// Returns the version that a store's identifier names, such as `2.0.0`.
  static func identifier(_ metadata: [String: Any]) -> Schema.Version? {
    let versions = StoreVersion(metadata: metadata).identifiers.compactMap { text -> Schema.Version? in
      let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count == 3, let major = numbers[0], let minor = numbers[1], let patch = numbers[2] else {
        return nil
      }
      return Schema.Version(major, minor, patch)
    }
    return versions.max()
  }

  /// Returns the model that a SQLite store carries; nil if there is none that can be read.
  static func carriedModel(_ url: URL) -> NSManagedObjectModel? {
    // The model only makes an error more precise.
    guard url.isFileURL, let file = try? StoreFile.open(url, isReadOnly: true) else { return nil }
    defer {
      // Nothing was written.
      try? file.close()
    }
    guard let document = (try? file.cachedModel()).flatMap({ $0 }) else { return nil }
    // As above.
    return try? NSManagedObjectModel(document: document)
  }
}
