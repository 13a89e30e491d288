// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import CoreDataModelFiles

/// Says all that an archive holds, object by object, in a form that does not depend on the order of its objects.
struct ArchiveDescription {
  private let archive: KeyedArchive
  /// How objects are called that others refer to.
  private var names: [Int: String] = [:]

  /// The fields of the model and of every entity and property, each as a text.
  static func model(_ data: Data) throws -> [String: [String: String]] {
    var description = ArchiveDescription(archive: try KeyedArchive(data))
    return try description.model()
  }

  private mutating func model() throws -> [String: [String: String]] {
    let root = try archive.root()
    if let identity = root.identity { names[identity] = "the model" }
    var subjects: [(name: String, object: ArchivedObject)] = [("model", root)]
    for (name, value) in try root.entries("NSEntities") {
      guard let entity = try archive.object(value) else { continue }
      if let identity = entity.identity { names[identity] = "entity \(name)" }
      subjects.append((name, entity))
      for (property, value) in try entity.entries("NSProperties") {
        guard let object = try archive.object(value) else { continue }
        if let identity = object.identity { names[identity] = "property \(name).\(property)" }
        subjects.append(("\(name).\(property)", object))
      }
    }
    var result: [String: [String: String]] = [:]
    for subject in subjects {
      result[subject.name] = try fields(of: subject.object).merging(["class": subject.object.className]) { $1 }
    }
    return result
  }

  private func fields(of object: ArchivedObject) throws -> [String: String] {
    try object.fields.filter { $0.key != "$class" }.mapValues { try text($0) }
  }

  private func text(_ value: ArchiveValue, depth: Int = 0) throws -> String {
    guard depth < 20 else { return "…" }
    if case .uid(let position) = value, let name = names[position] { return name }
    guard let resolved = try archive.resolved(value) else { return "null" }
    guard case .dictionary(let members) = resolved, members["$class"] != nil, let object = try archive.object(value)
    else {
      // 1 and 1.0 are the same number, and compilers differ in how they write whole ones.
      if case .real(let number) = resolved, let whole = Int64(exactly: number) {
        return "\(ArchiveValue.integer(whole))"
      }
      return "\(resolved)"
    }
    if object.fields["NS.keys"] != nil || object.className == "NSKnownKeysDictionary1" {
      let entries = try ArchivedValues.entries(of: object).sorted { $0.key < $1.key }
      return try object.className + "{"
        + entries.map { try "\($0.key): \(text($0.value, depth: depth + 1))" }.joined(separator: ", ") + "}"
    }
    if object.fields["NS.objects"] != nil {
      let elements = try ArchivedValues.elements(of: object).map { try text($0, depth: depth + 1) }
      let isSet = object.className.hasSuffix("Set")
      return object.className + "[" + (isSet ? elements.sorted() : elements).joined(separator: ", ") + "]"
    }
    // An index element refers to its index again.
    let fields = object.fields.filter { $0.key != "$class" && $0.key != "NSFetchIndexDescription" }
    return try object.className + "("
      + fields.sorted { $0.key < $1.key }.map { try "\($0.key): \(text($0.value, depth: depth + 1))" }
      .joined(separator: ", ") + ")"
  }
}
