// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Models of other projects with what some tools leave in them",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct DamagedFixtureTests {
  /// Gives every attribute of a type the same default value.
  private func withDefaults(_ text: String) -> (text: String, count: Int) {
    var count = 0
    // Regular expressions would take ten times as long in a debug build.
    var parts = text.components(separatedBy: "<attribute ")
    for index in parts.indices.dropFirst() {
      guard let end = parts[index].firstIndex(of: ">") else { continue }
      var attributes = String(parts[index][..<end])
      let isNumber = ["Integer", "Double", "Float", "Decimal"].contains { attributes.contains("attributeType=\"\($0)") }
      guard isNumber || attributes.contains("attributeType=\"Boolean\"") else { continue }
      if let old = attributes.range(of: "defaultValueString=\""),
        let close = attributes[old.upperBound...].firstIndex(of: "\"")
      {
        attributes.removeSubrange(old.lowerBound...close)
      }
      count += 1
      parts[index] = "defaultValueString=\"\(isNumber ? "NO" : "0.0")\" \(attributes)\(parts[index][end...])"
    }
    return (parts.joined(separator: "<attribute "), count)
  }

  @Test("Every source is read with default values of another type, each with a warning, and has the same hashes")
  func sources() throws {
    var changes = 0
    for url in Fixtures.modelSources {
      let file = url.appendingPathComponent("contents")
      let (text, count) = withDefaults(try String(contentsOf: file, encoding: .utf8))
      let warnings = ModelWarnings()
      let odd = try XCDataModelReader.document(
        of: Data(text.utf8), file: file, warnings: warnings)
      let plain = try XCDataModelReader.document(at: url)
      #expect(VersionHashes(odd).entities == VersionHashes(plain).entities, "\(Fixtures.name(of: url))")
      // Attributes of a composite type are read once for each attribute that has it.
      #expect(count == 0 || !warnings.list.isEmpty, "\(Fixtures.name(of: url))")
      #expect(warnings.list.count <= count)
      changes += count
    }
    #expect(changes > 3000)
  }

  @Test("Every bundle is read beside versions that cannot be read")
  func bundles() throws {
    let directory = try TemporaryDirectory()
    for url in Fixtures.modelBundles {
      let copy = directory.file(url.lastPathComponent)
      try FileManager.default.copyItem(at: url, to: copy)
      let before = try ModelBundle(contentsOf: url)
      for (name, file, content) in [
        ("0 before Xcode 4", "elements", "bplist00"), ("0 broken", "contents", "<model><entity"),
        ("0 wrong", "contents", "<model><entity name=\"A\" parentEntity=\"Nobody\"/></model>"),
      ] {
        try directory.write(content, to: "\(url.lastPathComponent)/\(name).xcdatamodel/\(file)")
      }
      // An only version is not checked where it stands alone.
      let valid = before.versions.filter { version in
        before.versions.count > 1 || (try? version.document.validate()) != nil
      }
      guard !valid.isEmpty else {
        #expect(throws: ModelFileError.self, "\(Fixtures.name(of: url))") { try ModelBundle(contentsOf: copy) }
        try FileManager.default.removeItem(at: copy)
        continue
      }
      let after = try ModelBundle(contentsOf: copy)
      #expect(after.versions.map(\.name) == valid.map(\.name), "\(Fixtures.name(of: url))")
      #expect(after.versions.map(\.document) == valid.map(\.document))
      #expect(Set(after.unreadable.map(\.name)).isSuperset(of: ["0 before Xcode 4", "0 broken", "0 wrong"]))
      try FileManager.default.removeItem(at: copy)
    }
  }

  @Test(
    "Every compiled model, and every model that a store carries, is read with default values of another type, with objects of an app, and with stand-ins for inherited properties"
  )
  func archives() throws {
    let archives =
      try CompiledModelFixtureTests.caches().map { ($0.name, $0.archive) }
      + Fixtures.compiledModels.map { (Fixtures.name(of: $0), try Data(contentsOf: $0)) }
    var counts = (defaults: 0, objects: 0, standIns: 0)
    for (name, data) in archives {
      let plain = try CompiledModelReader.document(of: data)
      var archive = try EditedArchive(data)
      let text = archive.add(.string("NO"))
      let object = archive.add("App.Thing", ["x": .integer(1), "y": archive.add(.string("z"))])
      let numbers: Set<Int64> = [100, 200, 300, 400, 500, 600, 800]
      counts.defaults += archive.edit("NSAttributeDescription") { _, fields, _ in
        guard case .integer(let type)? = fields["NSAttributeType"], numbers.contains(type) else { return false }
        fields["NSDefaultValue"] = text
        return true
      }
      counts.objects += archive.edit("NSAttributeDescription") { _, fields, _ in
        guard fields["NSAttributeType"] == .integer(1800) else { return false }
        fields["NSDefaultValue"] = object
        return true
      }
      counts.standIns += archive.useStandIns()
      let warnings = ModelWarnings()
      let odd = try CompiledModelReader.document(of: archive.data, warnings: warnings)
      #expect(VersionHashes(odd).entities == VersionHashes(plain).entities, "\(name)")
      #expect(
        warnings.list.isEmpty == !plain.entities.contains {
          $0.attributes.contains { numbers.contains(Int64($0.kind.rawValue)) }
        })
      // What is read is written again.
      #expect(try ModelCache.decode(ModelCache.encode(odd)) == odd, "\(name)")
    }
    #expect(archives.count == 44)
    #expect(counts.defaults > 500 && counts.objects > 0, "\(counts)")
  }
}
