// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Compiling models of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct CompilingFixtureTests {
  /// Every compiled model is read, written, and compared with what Apple's compiler wrote, field by field.
  @Test("What we compile has the classes, keys, values and references of what Apple's compiler wrote")
  func structure() throws {
    #expect(Fixtures.compiledModels.count == 21)
    for file in Fixtures.compiledModels {
      let archive = try Data(contentsOf: file)
      let ours = try CompiledModelWriter.archive(of: CompiledModelReader.document(of: archive), form: .file)
      try expectEqual(ours, archive, Fixtures.name(of: file))
    }
  }

  @Test("Compiling a source gives what Apple's compiler made of the same source")
  func sources() throws {
    var sources: [[String: Data]: [ModelDocument]] = [:]
    for source in Fixtures.modelSources {
      let document = try ModelBundle(contentsOf: source).currentDocument()
      sources[VersionHashes(document).entities, default: []].append(document)
    }
    var compared = 0
    for file in Fixtures.compiledModels {
      let archive = try Data(contentsOf: file)
      let theirs = try CompiledModelReader.document(of: archive)
      let module = theirs.entities.compactMap { $0.className?.split(separator: ".") }.first { $0.count == 2 }?[0]
      let source = sources[VersionHashes(theirs).entities]?.lazy
        .map { $0.namingClasses(inModule: module.map(String.init)) }
        .first { comparable($0) == comparable(theirs) }
      guard let source else { continue }
      let ours = try CompiledModelWriter.archive(of: source, form: .file)
      try expectEqual(ours, archive, Fixtures.name(of: file))
      compared += 1
    }
    #expect(compared == 16)
  }

  @Test("The hashes and checksums that we note for a bundle are those that Xcode noted")
  func versionInfo() throws {
    var compared = 0
    let directory = try TemporaryDirectory()
    let folder = directory.url
    for bundle in try Set(Fixtures.compiledModels.map { $0.deletingLastPathComponent() }).map({
      try ModelBundle(contentsOf: $0)
    }) {
      guard let current = bundle.currentVersionName, !bundle.recordedHashes.isEmpty else { continue }
      let copy = folder.appendingPathComponent("Copy.momd")
      try ModelBundle.writeCompiled(bundle.versions, current: current, to: copy)
      let written = try ModelBundle(contentsOf: copy)
      #expect(written.recordedHashes == bundle.recordedHashes, "\(Fixtures.name(of: bundle.url))")
      for (version, checksum) in bundle.recordedChecksums {
        #expect(written.recordedChecksums[version] == checksum, "\(Fixtures.name(of: bundle.url))")
      }
      #expect(written.versions.map(\.document) == bundle.versions.map(\.document))
      compared += 1
    }
    #expect(compared == 9)
  }

  @Test("An optimised model beside its compiled one is read")
  func optimised() throws {
    let file = Fixtures.url(
      "Karim-ezzedine__CartKit/Sources/CartKitStorageCoreData/Resources/CartStorage.momd/CartStorage")
    let optimised = try ModelBundle(contentsOf: file.appendingPathExtension("omo"))
    let compiled = try ModelBundle(contentsOf: file.appendingPathExtension("mom"))
    #expect(try optimised.currentDocument() == compiled.currentDocument())
  }

  private func expectEqual(_ ours: Data, _ theirs: Data, _ name: String) throws {
    let ours = try ArchiveDescription.model(ours)
    var theirs = try ArchiveDescription.model(theirs)
    // Only the compilers of recent versions of Xcode note themselves.
    theirs["model"]?["CDMCompilerToolVersion"] = nil
    theirs["model"]?["CDMCompilerXcodeVersion"] = nil
    for subject in Set(ours.keys).union(theirs.keys).sorted() {
      let (left, right) = (ours[subject] ?? [:], theirs[subject] ?? [:])
      for key in Set(left.keys).union(right.keys).sorted() {
        #expect(left[key] == right[key], "\(key) of \(subject) in \(name)")
      }
    }
  }
}
