// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

/// The predictable results of a step with a mapping model without policies: the number of objects that its mappings
/// create, and the values that they copy.
///
/// Objects are not identified by their keys, which a mapping model need not keep.
struct MappedReference {
  private let mappings: [EntityMappingDocument]
  private let old: ModelShape
  private let new: ModelShape

  /// Returns nil if a policy makes the results unpredictable.
  init?(_ mapping: MappingDocument, from old: ModelDocument, to new: ModelDocument) {
    guard mapping.entityMappings.allSatisfy({ $0.policyClassName == nil }) else { return nil }
    mappings = mapping.entityMappings.filter { ![.add, .remove].contains($0.kind) }
    self.old = ModelShape(old)
    self.new = ModelShape(new)
  }

  /// Returns descriptions of the differences between a store's content after the step and its predictable results.
  func differences(before: StoreImage, after: StoreImage) -> [String] {
    new.document.entities.filter { !$0.isAbstract }.flatMap { entity -> [String] in
      let mappings = mappings.filter { $0.destinationEntityName == entity.name }
      let sources = mappings.compactMap { mapping in source(of: mapping).map { (mapping, $0) } }
      guard sources.count == mappings.count else { return [] }
      func objects(_ image: StoreImage, _ name: String) -> [StoreImage.Object] {
        image.objects.filter { $0.key.entity == name }.map(\.value)
      }
      let made = objects(after, entity.name)
      let count = sources.reduce(0) { $0 + objects(before, $1.1).count }
      guard made.count == count else { return ["\(entity.name) has \(made.count) objects instead of \(count)"] }
      let copies = sources.map { self.copies(of: $0.0, from: $0.1, to: entity.name) }
      let names = copies.reduce(Set(copies.first.map { Array($0.keys) } ?? [])) { $0.intersection($1.keys) }.sorted()
      guard !names.isEmpty else { return [] }
      let wanted = zip(sources, copies).flatMap { source, copies -> [[StoreImage.Value]] in
        objects(before, source.1).map { object in names.map { object.attributes[copies[$0] ?? ""] ?? .none } }
      }
      let found = made.map { object in names.map { object.attributes[$0] ?? .none } }
      return Self.missing(wanted, in: found).map { values in
        let texts = zip(names, values).map { "\($0) = \(String("\($1)".prefix(60)))" }
        return "no \(entity.name) has \(texts.joined(separator: ", ")), as a source object has"
      }
    }
  }

  /// Returns the source entity of a mapping that uses each of its objects; nil if it may use others.
  private func source(of mapping: EntityMappingDocument) -> String? {
    guard let name = mapping.sourceEntityName, old[name]?.isAbstract == false,
      mapping.sourceExpression == nil || mapping.sourceExpression == MappingExpressions.sourceObjects(entity: name),
      !old.document.entities.contains(where: { $0.name != name && old.isKind($0.name, of: name) })
    else { return nil }
    return name
  }

  /// Returns the source attributes that a mapping copies unchanged, by the names of the destination attributes.
  private func copies(of mapping: EntityMappingDocument, from source: String, to destination: String)
    -> [String: String]
  {
    let (before, after) = (old.attributes(of: source), new.attributes(of: destination))
    var copies: [String: String] = [:]
    for property in mapping.attributeMappings {
      guard case .keyPathOf(.variable("source"), let key)? = property.valueExpression, let attribute = before[key],
        let made = after[property.name], attribute.kind == made.kind, made.derivation == nil,
        made.kind != .composite, made.isOptional || !attribute.isOptional
      else { continue }
      copies[property.name] = key
    }
    return copies
  }

  /// Returns the expected values that were not found, each as often as it is missing.
  private static func missing(
    _ wanted: [[StoreImage.Value]], in found: [[StoreImage.Value]]
  ) -> [[StoreImage.Value]] {
    var counts = found.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    return wanted.filter { values in
      guard let count = counts[values], count > 0 else { return true }
      counts[values] = count - 1
      return false
    }
  }
}
