// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Model files that are no files, and models that are too much")
struct HostileFileTests {
  @Test("A FIFO in the place of any file of a model is refused, and does not hang")
  func fifos() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let places = [
      "a.mom", "b.xcdatamodel/contents", "c.momd/C.mom", "d.xcdatamodeld/D.xcdatamodel/contents",
      "e.xcmappingmodel/xcmapping.xml", "f.cdm", "g.momd/VersionInfo.plist", "h.xcdatamodeld/.xccurrentversion",
    ]
    for place in places {
      let file = folder.appendingPathComponent(place)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      #expect(mkfifo(file.path, 0o600) == 0)
    }
    // These two are read with a model beside them.
    try CompiledModelWriter.archive(of: ModelDocument(), form: .file)
      .write(to: folder.appendingPathComponent("g.momd/G.mom"))
    try ModelBundle.writeSource(ModelDocument(), to: folder.appendingPathComponent("h.xcdatamodeld/H.xcdatamodel"))
    for place in places {
      let top = folder.appendingPathComponent(String(place.prefix { $0 != "/" }))
      let error = #expect(throws: ModelFileError.self) {
        if ["xcmappingmodel", "cdm"].contains(top.pathExtension) {
          _ = try MappingDocument(contentsOf: top)
        } else {
          _ = try ModelBundle(contentsOf: top)
        }
      }
      #expect(error?.found == "The path names a FIFO, not a regular file.", "\(place)")
    }
  }

  @Test("A device is refused")
  func devices() {
    let error = #expect(throws: ModelFileError.self) { try ModelFile.read(URL(fileURLWithPath: "/dev/zero")) }
    #expect(error?.found == "The path names a device, not a regular file.")
  }

  @Test("A version list that unfolds to more values than there is memory is refused")
  func versionInfo() throws {
    var list = HostilePropertyList()
    for position in 1...12 { list.add(array: Array(repeating: position, count: 10)) }
    list.add([0x51, 0x78])
    let directory = try TemporaryDirectory()
    let folder = directory.url
    try list.data.write(to: folder.appendingPathComponent("VersionInfo.plist"))
    #expect(throws: ModelFileError.self) { try VersionInfo(directory: folder) }
  }

  @Test("XML of too many elements is refused while it is read")
  func elements() throws {
    let text = "<model>" + String(repeating: "<a/>", count: 1_100_000) + "</model>"
    let error = #expect(throws: ModelFileError.self) {
      try XMLTreeReader.root(of: Data(text.utf8), file: URL(fileURLWithPath: "contents"))
    }
    #expect(error?.found.contains("more than 1000000 elements") == true)
  }

  @Test("XML with very many attributes on an element is refused before the parser compares them, with its line")
  func attributes() throws {
    let many = (0..<5_000).map { "a\($0)='1'" }.joined(separator: " ")
    let before = "<?xml version=\"1.0\"?>\n<!-- <b \(many)> -->\n<model b=\"'>'\">\n<![CDATA[<c \(many)>]]>\n"
    func root(_ text: String) throws -> XMLElementNode {
      try XMLTreeReader.root(of: Data(text.utf8), file: URL(fileURLWithPath: "contents"))
    }
    #expect(try root(before + "</model>").name == "model")
    let error = #expect(throws: ModelFileError.self) { try root(before + "<d \(many)/></model>") }
    #expect(error?.found.contains("more than 1000 attributes") == true && error?.line == 5)
    // Neither a tag nor a quotation that does not end is read beyond the file.
    for text in ["<model a='", "<model", "<!-- ", "<![CDATA[", "<?xml"] {
      #expect(throws: ModelFileError.self) { try root(text) }
    }
  }

  @Test("Composite types that contain others many times are refused before they are unfolded")
  func composites() throws {
    var text = "<model><entity name=\"E\"><attribute name=\"a\" attributeType=\"Composite\" composite=\"C0\"/></entity>"
    for level in 0..<12 {
      text += "<composite name=\"C\(level)\">"
      for position in 0..<10 {
        text +=
          level == 11
          ? "<attribute name=\"a\(position)\" attributeType=\"String\"/>"
          : "<attribute name=\"a\(position)\" attributeType=\"Composite\" composite=\"C\(level + 1)\"/>"
      }
      text += "</composite>"
    }
    let error = #expect(throws: ModelFileError.self) {
      try XCDataModelReader.document(
        of: Data((text + "</model>").utf8), file: URL(fileURLWithPath: "contents"))
    }
    #expect(error?.found.contains("more than 300000 attributes") == true)
  }

  @Test("An object of a mapping model counts once, however often another one refers to it")
  func references() throws {
    func store(_ identifiers: String) -> Data {
      Data(
        "<database><object type=\"A\" id=\"z1\"><relationship name=\"r\" idrefs=\"\(identifiers)\"/></object></database>"
          .utf8)
    }
    let file = URL(fileURLWithPath: "xcmapping.xml")
    let repeated = try XMLStoreObjects(contentsOf: store(String(repeating: "z1 ", count: 600_000)), file: file)
    #expect(repeated.all("A").map { repeated.objects("r", of: $0).count } == [1])
    let many = (0..<600_000).map { "z\($0)" }.joined(separator: " ")
    #expect(throws: ModelFileError.self) { try XMLStoreObjects(contentsOf: store(many), file: file) }
  }

  @Test("A model cache that is packed more than any model is refused")
  func ratio() throws {
    let packed = try RawDeflate.compress(Data(count: 1 << 24))
    let error = #expect(throws: ModelFileError.self) { try ModelCache.decode(packed) }
    #expect(error?.found.hasPrefix("The compressed data is larger than") == true)
  }

  @Test("An archive that has the same property a million times is refused before it fills the memory")
  func repeatedProperties() throws {
    let count = 900_000
    var builder = KeyedArchiveBuilder()
    let entity = builder.reserve()
    let attribute = try builder.attribute(AttributeDocument(name: "a", kind: .string), isIndexed: false, of: entity)
    let name = builder.string("a")
    let properties = builder.add(
      "NSMutableDictionary",
      [
        "NS.keys": .array(Array(repeating: name, count: count)),
        "NS.objects": .array(Array(repeating: attribute, count: count)),
      ])
    builder.fill(entity, "NSEntityDescription", ["NSEntityName": builder.string("E"), "NSProperties": properties])
    let entities = builder.dictionary([(key: "E", value: entity)])
    let model = builder.add("NSManagedObjectModel", ["NSEntities": entities])
    let error = #expect(throws: ModelFileError.self) { try ModelCache.unarchive(builder.data(root: model)) }
    #expect(error?.kind == .brokenArchive)
  }

  @Test("A model of 3,000 entities and 20,000 attributes stays far below the limits")
  func largeModel() throws {
    let document = ModelDocument(
      entities: (0..<3000).map { number in
        var entity = EntityDocument(name: "Entity number \(number)", className: "Class\(number)")
        entity.attributes = (0..<7).map { AttributeDocument(name: "attribute\($0) of \(number)", kind: .string) }
        return entity
      })
    for form in [CompiledModelWriter.Form.cache, .file] {
      let archive = try CompiledModelWriter.archive(of: document, form: form)
      var limits = PropertyListLimits.archive
      limits.bytes /= 4
      limits.objects /= 4
      limits.elements /= 4
      #expect(throws: Never.self) { try BinaryPropertyListReader.value(of: archive, limits: limits) }
      #expect(try ModelCache.unarchive(archive).entities.count == 3000)
    }
    let source = Data(try XCDataModelWriter.text(of: document, style: .current).utf8)
    #expect(source.count < ModelFile.largest / 4)
    #expect(throws: Never.self) { try XMLTreeReader.root(of: source, file: URL(fileURLWithPath: "contents")) }
  }
}
