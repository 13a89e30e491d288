// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

/// A folder with a model whose pictures may be in files of their own, and a store of it; removed at the end of its life.
final class PictureShop {
  private let directory: TemporaryDirectory
  var url: URL { directory.url }
  var model: String { path("Pictures.xcdatamodeld") }
  var store: String { path("Pictures.sqlite") }
  let pictureModel: NSManagedObjectModel

  /// The bytes of a value that gets a file of its own.
  static let large = 300_000

  init() throws {
    directory = try TemporaryDirectory()
    let bundle = directory.file("Pictures.xcdatamodeld")
    for (name, more) in [
      ("Pictures", ""), ("Pictures 2", "<attribute name=\"place\" optional=\"YES\" attributeType=\"String\"/>"),
    ] {
      let text = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
        <entity name="Album"><attribute name="title" optional="YES" attributeType="String"/>
        <relationship name="pictures" optional="YES" toMany="YES" destinationEntity="Picture" inverseName="album"
        inverseEntity="Picture"/></entity>
        <entity name="Note"><attribute name="text" optional="YES" attributeType="String"/></entity>
        <entity name="Picture"><attribute name="data" optional="YES" attributeType="Binary"
        allowsExternalBinaryDataStorage="YES"/>
        <attribute name="name" optional="YES" attributeType="String"/>\(more)
        <relationship name="album" optional="YES" maxCount="1" destinationEntity="Album" inverseName="pictures"
        inverseEntity="Album"/></entity>
        <configuration name="Notes"><memberEntity name="Note"/></configuration>
        <configuration name="Media"><memberEntity name="Album"/><memberEntity name="Picture"/></configuration>
        </model>
        """
      try directory.write(text, to: "Pictures.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Pictures 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: bundle.appendingPathComponent(".xccurrentversion"))
    pictureModel = try NSManagedObjectModel.load(contentsOf: bundle, version: "Pictures")
  }

  func path(_ name: String) -> String { directory.path(name) }

  /// The names of all files, also in directories and hidden ones, sorted.
  func files() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted() }

  /// The files of values of a store with a name, without its extension.
  func values(of name: String) throws -> [String] {
    let folder = path(".\(name)_SUPPORT/_EXTERNAL_DATA")
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  /// Makes a store, or adds to it.
  ///
  /// - Parameters:
  ///   - pictures: how many pictures to add, of which every other one has a file.
  ///   - configuration: the configuration of the model; nil for all entities.
  func fill(_ path: String, pictures: Int, configuration: String? = nil) throws {
    try withContext(pictureModel, at: URL(fileURLWithPath: path), configuration: configuration) { context in
      let album = NSEntityDescription.insertNewObject(forEntityName: "Album", into: context)
      album.setValue("All", forKey: "title")
      for number in 0..<pictures {
        let picture = NSEntityDescription.insertNewObject(forEntityName: "Picture", into: context)
        picture.setValue("Picture \(number)", forKey: "name")
        picture.setValue(album, forKey: "album")
        let count = number % 2 == 0 ? Self.large + number : 20
        picture.setValue(Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }), forKey: "data")
      }
      if pictures > 0 { try context.save() }
    }
  }

  /// What a store exports, without the UUID in identifiers.
  func export(_ path: String) throws -> [String] {
    let run = CommandRun("store", "export", path, "--strict", "--model", model)
    #expect(run.status == .done, "\(run.error)")
    return run.output.replacing(/x-coredata:\/\/[^\/]*\//, with: "").split(separator: "\n").map(String.init).sorted()
  }
}
