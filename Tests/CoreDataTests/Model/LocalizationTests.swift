// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Localized names of models")
struct LocalizationTests {
  private let folder: ModelFolder
  private var model: URL { folder.url.appendingPathComponent("Notes.xcdatamodeld") }

  init() throws {
    folder = try ModelFolder()
    try folder.source("Notes.xcdatamodeld/Notes.xcdatamodel", ["Note": ["text"]])
  }

  @Test("A model without strings beside it has none")
  func none() throws {
    #expect(try NSManagedObjectModel.load(contentsOf: model).localizationDictionary == nil)
  }

  @Test("Lines of strings and property lists are read, and the name that ends in Model comes first")
  func formats() throws {
    try folder.write(
      "/* people */\n\"Entity/Note\" = \"Zettel\";\n// more\n\"Property/text\" = \"\\\"W\\U00f6rter\\\"\";\n",
      to: "en.lproj/Notes.strings")
    let words = ["Entity/Note": "Zettel", "Property/text": "\"Wörter\""]
    #expect(try NSManagedObjectModel.load(contentsOf: model).localizationDictionary == words)
    #expect(NSManagedObjectModel(contentsOf: model)?.localizationDictionary == words)
    #expect(try NSManagedObjectModel.versions(contentsOf: model)[0].model.localizationDictionary == words)
    let list = try PropertyListSerialization.data(fromPropertyList: ["a": "b"], format: .binary, options: 0)
    try list.write(to: folder.url.appendingPathComponent("en.lproj/NotesModel.strings"))
    #expect(try NSManagedObjectModel.load(contentsOf: model).localizationDictionary == ["a": "b"])
  }

  @Test("A language comes before the base language, and that before no language")
  func languages() throws {
    try folder.write("a = \"none\";", to: "Notes.strings")
    #expect(try NSManagedObjectModel.localizationDictionary(forModelAt: model) == ["a": "none"])
    try folder.write("a = \"base\";", to: "Base.lproj/Notes.strings")
    #expect(try NSManagedObjectModel.localizationDictionary(forModelAt: model) == ["a": "base"])
    let language = Bundle.preferredLocalizations(from: ["de", "en", "fr"], forPreferences: Locale.preferredLanguages)[0]
    for name in ["de", "en", "fr"] { try folder.write("a = \"\(name)\";", to: "\(name).lproj/Notes.strings") }
    #expect(try NSManagedObjectModel.localizationDictionary(forModelAt: model) == ["a": language])
  }

  @Test("A broken file leaves the model without words; the reason names the file", arguments: ["a = ;", "a = (1, 2);"])
  func broken(_ text: String) throws {
    try folder.write(text, to: "en.lproj/Notes.strings")
    #expect(try NSManagedObjectModel.load(contentsOf: model).localizationDictionary == nil)
    let error = try #require(throws: NSError.self) {
      try NSManagedObjectModel.localizationDictionary(forModelAt: model)
    }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect((error.userInfo[NSFilePathErrorKey] as? String)?.hasSuffix("en.lproj/Notes.strings") == true)
  }

  @Test("It can be set, goes along with copies, and changes neither equality nor hashes")
  func setting() throws {
    let one = ModelFolder.model(["Note": ["text"]])
    let other = ModelFolder.model(["Note": ["text"]])
    one.localizationDictionary = ["Entity/Note": "Zettel"]
    #expect((one.copy() as? NSManagedObjectModel)?.localizationDictionary == ["Entity/Note": "Zettel"])
    #expect(one == other)
    #expect(one.versionChecksum == other.versionChecksum)
    one.localizationDictionary = nil
    #expect(one.localizationDictionary == nil)
  }
}
