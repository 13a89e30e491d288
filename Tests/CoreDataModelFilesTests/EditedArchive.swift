// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import CoreDataModelFiles

/// A keyed archive whose objects a test changes.
struct EditedArchive {
  private(set) var objects: [ArchiveValue]
  private var top: ArchiveValue

  init(_ data: Data) throws {
    guard case .dictionary(let archive) = try BinaryPropertyListReader.value(of: data),
      case .array(let objects)? = archive["$objects"], let top = archive["$top"]
    else { throw ArchiveFailure.broken("no archive") }
    (self.objects, self.top) = (objects, top)
  }

  var data: Data {
    BinaryPropertyListWriter.data(
      of: .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$top": top,
        "$objects": .array(objects),
      ]))
  }

  /// Adds an object and gives its reference.
  mutating func add(_ object: ArchiveValue) -> ArchiveValue {
    objects.append(object)
    return .uid(objects.count - 1)
  }

  /// Adds an object of a class.
  mutating func add(_ className: String, _ fields: [String: ArchiveValue]) -> ArchiveValue {
    let reference = add(
      .dictionary([
        "$classname": .string(className), "$classes": .array([.string(className), .string("NSObject")]),
      ]))
    return add(.dictionary(fields.merging(["$class": reference]) { old, _ in old }))
  }

  func className(of fields: [String: ArchiveValue]) -> String? {
    guard case .uid(let position)? = fields["$class"], case .dictionary(let description) = objects[position],
      case .string(let name)? = description["$classname"]
    else { return nil }
    return name
  }

  func text(_ value: ArchiveValue?) -> String? {
    guard case .uid(let position)? = value, case .string(let text) = objects[position] else { return nil }
    return text
  }

  /// Changes the fields of every object of a class; the body says whether it has changed them.
  mutating func edit(
    _ className: String, _ body: (Int, inout [String: ArchiveValue], inout EditedArchive) -> Bool
  ) -> Int {
    var count = 0
    for position in objects.indices {
      guard case .dictionary(var fields) = objects[position], self.className(of: fields) == className else { continue }
      if body(position, &fields, &self) {
        objects[position] = .dictionary(fields)
        count += 1
      }
    }
    return count
  }

  /// Puts stand-ins, as models that were loaded have them, in the place of the properties that sub-entities inherit.
  mutating func useStandIns() -> Int {
    // What each entity holds, by the entity's place.
    var held: [Int: [String: ArchiveValue]] = [:]
    _ = edit("NSEntityDescription") { position, fields, archive in
      if case .uid(let list)? = fields["NSProperties"], case .dictionary(let entries) = archive.objects[list],
        case .array(let keys)? = entries["NS.keys"], case .array(let values)? = entries["NS.objects"]
      {
        for (key, value) in zip(keys, values) { held[position, default: [:]][archive.text(key) ?? ""] = value }
      }
      return false
    }
    var count = 0
    _ = edit("NSEntityDescription") { position, fields, archive in
      guard case .uid(let parent)? = fields["NSSuperentity"], parent != 0,
        case .uid(let list)? = fields["NSProperties"],
        case .dictionary(var entries) = archive.objects[list], case .array(let keys)? = entries["NS.keys"],
        case .array(var values)? = entries["NS.objects"]
      else { return false }
      for (index, key) in keys.enumerated() {
        guard let inherited = held[parent]?[archive.text(key) ?? ""] else { continue }
        values[index] = archive.add(
          "_NSPropertyDescriptionProxy", ["NSUnderlyingProperty": inherited, "NSEntityDescription": .uid(position)])
        count += 1
      }
      entries["NS.objects"] = .array(values)
      archive.replace(list, by: .dictionary(entries))
      return false
    }
    return count
  }

  private mutating func replace(_ position: Int, by value: ArchiveValue) { objects[position] = value }
}
