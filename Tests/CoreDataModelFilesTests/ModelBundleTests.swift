// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Bundles of model versions")
struct ModelBundleTests {
  private func write(version name: String, entity: String, in folder: URL) throws {
    let package = folder.appendingPathComponent("\(name).xcdatamodel")
    try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
    try Data("<model><entity name=\"\(entity)\"/></model>".utf8)
      .write(to: package.appendingPathComponent("contents"))
  }

  private func write(current: String, in folder: URL) throws {
    let plist = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": current], format: .xml, options: 0)
    try plist.write(to: folder.appendingPathComponent(".xccurrentversion"))
  }

  @Test("Versions are sorted as a person would, and the current one is marked")
  func versions() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    for name in ["Done 10", "Done 2", "Done", "done 1"] {
      try write(version: name, entity: "E\(name.count)", in: folder)
    }
    try write(current: "Done 2.xcdatamodel", in: folder)
    let bundle = try ModelBundle(contentsOf: folder)
    #expect(bundle.versions.map(\.name) == ["Done", "done 1", "Done 2", "Done 10"])
    #expect(bundle.currentVersionName == "Done 2")
    #expect(try bundle.document(named: "Done 10").entities[0].name == "E7")
    #expect(try bundle.currentDocument().entities[0].name == "E6")
  }

  @Test("Without a mark the only version is current, else the one of the bundle's name, else none")
  func unmarked() throws {
    let directory = try TemporaryDirectory()
    let parent = directory.url
    let folder = parent.appendingPathComponent("Done.xcdatamodeld")
    try write(version: "First", entity: "E", in: folder)
    #expect(try ModelBundle(contentsOf: folder).currentVersionName == "First")
    try write(version: "Second", entity: "E", in: folder)
    let bundle = try ModelBundle(contentsOf: folder)
    #expect(bundle.currentVersionName == nil)
    #expect(throws: ModelFileError.self) { try bundle.currentDocument() }
    try write(version: "Done", entity: "E", in: folder)
    #expect(try ModelBundle(contentsOf: folder).currentVersionName == "Done")
  }

  @Test("A bare model is a bundle of one version, as a package and as its XML file")
  func bare() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    try write(version: "Solo", entity: "E", in: folder)
    let package = folder.appendingPathComponent("Solo.xcdatamodel")
    let bundle = try ModelBundle(contentsOf: package)
    #expect(bundle.versions.map(\.name) == ["Solo"] && bundle.currentVersionName == "Solo")
    let plain = folder.appendingPathComponent("Plain.xcdatamodel")
    try FileManager.default.copyItem(at: package.appendingPathComponent("contents"), to: plain)
    #expect(try ModelBundle(contentsOf: plain).currentDocument() == bundle.currentDocument())
  }

  @Test("What is not there is named")
  func absent() throws {
    func kind(_ url: URL) -> ModelFileError.Kind? {
      #expect(throws: ModelFileError.self) { try ModelBundle(contentsOf: url) }?.kind
    }
    let directory = try TemporaryDirectory()
    let folder = directory.url
    #expect(kind(folder.appendingPathComponent("No.xcdatamodeld")) == .missingFile)
    #expect(kind(folder) == .missingContents)
    let hollow = folder.appendingPathComponent("Hollow.xcdatamodel")
    try FileManager.default.createDirectory(at: hollow, withIntermediateDirectories: true)
    #expect(kind(hollow) == .missingContents)
    #expect(kind(folder) == .missingContents)
    try write(version: "Hollow", entity: "E", in: folder)
    try write(current: "Gone.xcdatamodel", in: folder)
    let error = #expect(throws: ModelFileError.self) { try ModelBundle(contentsOf: folder).currentDocument() }
    #expect(error?.kind == .unknownVersion)
    #expect(error?.advice.contains("\"Hollow\"") == true)
  }
}
