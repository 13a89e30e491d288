// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// The stored values of an object at a time.
struct ObjectSnapshot {
  private let values: [(name: String, value: JSONText)]

  init(_ object: NSManagedObject) throws {
    values = try object.entity.propertiesByName.filter { $0.value.isStored }.sorted { $0.key < $1.key }
      .map { ($0.key, try object.exported($0.value)) }
  }

  /// Returns the properties that differ later.
  func changes(to later: ObjectSnapshot) -> [ValueChange] {
    zip(values, later.values).filter { $0.value.line() != $1.value.line() }
      .map { ValueChange(name: $0.name, old: $0.value, new: $1.value) }
  }
}

/// A property with another value.
struct ValueChange {
  let name: String
  let old: JSONText
  let new: JSONText

  /// A short form of a value for a table.
  static func text(_ value: JSONText) -> String {
    TextLayout.truncated(value.line().replacing(/x-coredata:\/\/[^\/"]*\//, with: ""), to: 48)
  }

  var json: JSONText.Member { .init(name, ["old": old, "new": new]) }
}

/// The objects that a change of others has changed, through inverse relationships and deletion rules.
struct AffectedObjects {
  private let objects: [(id: String, uri: String, properties: [String])]

  /// The maximum number of objects in a text.
  private static let maxCount = 20

  /// Collects the updated objects of a context but some.
  init(in context: NSManagedObjectContext, besides others: Set<NSManagedObject>) {
    objects = context.updatedObjects.subtracting(others).inExportOrder()
      .map { object in
        (object.shortID, object.objectID.uriRepresentation().absoluteString, object.changedValues().keys.sorted())
      }
      .filter { !$0.properties.isEmpty }
  }

  var text: String? {
    guard !objects.isEmpty else { return nil }
    let shown = objects.prefix(Self.maxCount).map { "\($0.id) (\($0.properties.joined(separator: ", ")))" }
    let rest = objects.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? " and \(NumberText.grouped(rest)) more" : "")
  }

  var json: JSONText {
    .array(objects.map { ["id": .string($0.uri), "properties": .array($0.properties.map { .string($0) })] })
  }
}
