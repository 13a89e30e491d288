// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A temporary folder of resources with models in it, which can be used as a bundle.
final class ModelFolder {
  private let directory: TemporaryDirectory
  var url: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory(pathExtension: "resources")
  }

  var bundle: Bundle {
    get throws { try #require(Bundle(url: url)) }
  }

  /// Writes text to a file, after making the directories of its path.
  @discardableResult
  func write(_ text: String, to path: String) throws -> URL { try directory.write(text, to: path) }

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
    try directory.write(ModelCache.archive(ModelFolder.model(entities).document), to: path)
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
