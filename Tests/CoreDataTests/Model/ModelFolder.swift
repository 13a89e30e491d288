// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreData

/// A temporary folder of resources with models in it, which can be used as a bundle.
final class ModelFolder {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("models-\(UUID().uuidString).resources")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    // Nothing can be done about a folder that stays behind in the temporary directory.
    try? FileManager.default.removeItem(at: url)
  }

  var bundle: Bundle {
    get throws { try #require(Bundle(url: url)) }
  }

  /// Writes text to a file, in folders that are made on the way.
  @discardableResult
  func write(_ text: String, to path: String) throws -> URL {
    let file = url.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return file
  }

  /// Writes the source of a model; the versions of an `.xcdatamodeld` by `Notes.xcdatamodeld/Notes 2.xcdatamodel`.
  ///
  /// - Parameter entities: the names of attributes, all of them texts, by entity.
  func source(_ path: String, _ entities: [String: [String]]) throws {
    let list = entities.sorted { $0.key < $1.key }.map { name, attributes in
      let content = attributes.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }
      return #"<entity name="\#(name)" representedClassName="\#(name)">\#(content.joined())</entity>"#
    }
    try write(
      #"<?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel">\#(list.joined())</model>"#,
      to: "\(path)/contents")
  }

  /// Marks the current version of an `.xcdatamodeld`.
  func mark(_ version: String, in bundle: String) throws {
    let current = ["_XCCurrentVersionName": "\(version).xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: url.appendingPathComponent("\(bundle)/.xccurrentversion"))
  }

  /// Writes a compiled model with the attributes given, all of them texts.
  func compiled(_ path: String, _ entities: [String: [String]]) throws {
    let file = url.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try ModelCache.archive(ModelFolder.model(entities).document).write(to: file)
  }

  /// The model that the other functions write.
  static func model(_ entities: [String: [String]]) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = entities.sorted { $0.key < $1.key }.map { name, attributes in
      ModelSamples.entity(name, attributes.map { ModelSamples.attribute($0, .string) })
    }
    return model
  }

  /// The names of attributes by entity.
  static func content(of model: NSManagedObjectModel?) -> [String: [String]]? {
    model?.entitiesByName.mapValues { $0.attributesByName.keys.sorted() }
  }
}
