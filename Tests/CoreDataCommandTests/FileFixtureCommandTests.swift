// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

private let program = BuiltProgram("coredata")

@Suite(
  "Commands over model files of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct FileFixtureCommandTests {
  private static let notes = "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes"
  private static let samples = "tinrobots__CoreDataPlus/Tests/Resources/SampleModel"

  private let folder: Workshop

  init() throws {
    folder = try Workshop()
  }

  private func path(_ name: String) -> String { Fixtures.url(name).path }

  @Test("mapping show: the filter, and the relationship by another mapping")
  func filter() {
    let run = CommandRun("mapping", "show", path("\(Self.notes)/UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel"))
    let name = "UnCloudNotesDataModel"
    let function = "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\","
    #expect(
      run.output == """
        # UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel   2 entity mappings
        versions "\(name) v2" -> "\(name) v3"

        NoteToAttachment   transform   Note -> Attachment
          filter  image != nil
          dateCreated  attribute     $source.dateCreated
          image        attribute     $source.image
          note         relationship  \(function) "NoteToNote", $source)

        NoteToNote   copy   Note -> Note
          body          attribute  $source.body
          dateCreated   attribute  $source.dateCreated
          displayIndex  attribute  $source.displayIndex
          title         attribute  $source.title

        """)
    #expect(run.status == .done)
  }

  @Test("mapping show: the policy")
  func policy() {
    let run = CommandRun("mapping", "show", path("\(Self.notes)/UnCloudNotesMappingModel_v3_to_v4.xcmappingmodel"))
    #expect(
      run.output.contains(
        """
        AttachmentToImageAttachment   custom   Attachment -> ImageAttachment
          policy  UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4

        """))
  }

  @Test("mapping check: the notes' mapping models fit their versions, and no others")
  func check() {
    let model = path("\(Self.notes)/UnCloudNotesDataModel.xcdatamodeld")
    let mapping = path("\(Self.notes)/UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel")
    let versions = ["v2", "v3", "v4"].map { "\(model)@UnCloudNotesDataModel \($0)" }
    let right = CommandRun("mapping", "check", mapping, versions[0], versions[1])
    #expect(
      right.output == "UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel   UnCloudNotesDataModel v2 -> "
        + "UnCloudNotesDataModel v3   0 errors, 0 warnings\n")
    #expect(right.status == .done)
    let wrong = CommandRun("mapping", "check", mapping, versions[1], versions[2])
    #expect(wrong.status == .no)
    #expect(
      wrong.output.contains(
        "  error  NoteToAttachment.image  Asks for image, which the source entity Note does not have.\n"))
  }

  @Test("mapping check: a compiled mapping model of Xcode's has no stale hashes for its versions")
  func checkCompiled() {
    let model = path("\(Self.samples)/Fixtures/SampleModel.momd")
    let mapping = path("\(Self.samples)/Fixtures/V2toV3.cdm")
    let right = CommandRun("mapping", "check", mapping, model + "@SampleModel2", model + "@SampleModel3")
    #expect(right.status == .done)
    #expect(right.output.hasPrefix("V2toV3.cdm   SampleModel2 -> SampleModel3   0 errors, 3 warnings\n"))
    let wrong = CommandRun("mapping", "check", mapping, model + "@SampleModel3", model + "@SampleModel2")
    #expect(wrong.status == .no)
    #expect(
      wrong.output.contains(
        "  error  CarToCar                             The source entity Car has the version hash of another state.\n"))
  }

  @Test("mapping infer: properties of the source that are left behind")
  func inferred() {
    let model = path("\(Self.samples)/Fixtures/SampleModel.momd")
    let run = CommandRun("mapping", "infer", model + "@SampleModel", model + "@SampleModel2")
    #expect(run.output.contains("\nIEM_Transform_Car   transform   Car -> Car\n  drops  color\n  maker "))
    #expect(run.status == .done)
  }

  @Test("mapping compile: what comes out says the same as what Xcode compiled")
  func compile() {
    let (ours, model) = (folder.path("Ours.cdm"), path("\(Self.samples)/Fixtures/SampleModel.momd"))
    let run = CommandRun(
      "mapping", "compile", path("\(Self.samples)/MappingModels/V2toV3.xcmappingmodel"), "-o", ours, "--from",
      model + "@SampleModel2", "--to", model + "@SampleModel3")
    #expect(run.output == "Ours.cdm: 5 entity mappings\n")
    let shown = CommandRun("mapping", "show", ours, "--format", "json")
    #expect(shown.status == .done)
    #expect(
      shown.output
        == CommandRun("mapping", "show", path("\(Self.samples)/Fixtures/V2toV3.cdm"), "--format", "json").output)
  }

  @Test("mapping show: every mapping model there is, and no value without a name")
  func all() throws {
    var shown = 0
    for url in Fixtures.mappingSources + Fixtures.compiledMappings {
      let run = CommandRun("mapping", "show", url.path)
      #expect(run.status == .done, "\(url.path): \(run.error)")
      #expect(run.output.hasPrefix("# " + url.lastPathComponent + "   "))
      let json = try CommandRun("mapping", "show", url.path, "--format", "json").json
      let mappings = try #require(json["entityMappings"] as? [[String: Any]])
      #expect(!mappings.isEmpty)
      for mapping in mappings {
        let name = try #require(mapping["name"] as? String)
        #expect(run.output.contains("\n\(name)   "))
      }
      shown += 1
    }
    #expect(shown == 33)
  }

  // Another process has another seed for the order of dictionaries.
  @Test(
    "mapping show: the same text in another process",
    .enabled(if: program.isPresent, "The program was not built beside the tests"),
    arguments: [
      "\(notes)/UnCloudNotesMappingModel_v3_to_v4.xcmappingmodel", "\(samples)/Fixtures/V2toV3.cdm",
    ])
  func otherProcess(name: String) throws {
    let run = try program.run(["mapping", "show", path(name)])
    #expect(run.status == 0 && !run.output.isEmpty && run.output == CommandRun("mapping", "show", path(name)).output)
  }

  @Test("store extract-model: the source matches the store, for every store that carries a model")
  func extract() throws {
    var (extracted, without) = (0, 0)
    for url in Fixtures.stores {
      let source = folder.path("Extracted-\(extracted).xcdatamodel")
      let run = CommandRun("store", "extract-model", url.path, "-o", source)
      guard run.status == .done else {
        #expect(run.status == .unreadableStore, "\(url.path): \(run.error)")
        #expect(run.error.contains("contains no model"), "\(url.path): \(run.error)")
        #expect(!FileManager.default.fileExists(atPath: source))
        without += 1
        continue
      }
      extracted += 1
      let match = CommandRun("store", "match", url.path, source)
      #expect(match.status == .done, "\(url.path): \(match.output)\(match.error)")
    }
    #expect(extracted == 23)
    #expect(without == 18)
  }

  @Test("model compile and decompile: hashes stay, for every bundle of versions")
  func bundles() throws {
    var done = 0
    for url in Fixtures.modelBundles {
      let original = CommandRun("model", "versions", url.path, "--format", "json", "--hashes")
      // Unfinished states of models, and bundles without a current version, are other suites' subjects.
      guard original.status == .done, try original.json["current"] is String else { continue }
      let (compiled, source) = (folder.path("\(done).momd"), folder.path("\(done).xcdatamodeld"))
      let compile = CommandRun("model", "compile", url.path, "-o", compiled)
      #expect(compile.status == .done, "\(url.path): \(compile.error)")
      let decompile = CommandRun("model", "decompile", compiled, "-o", source)
      #expect(decompile.status == .done, "\(url.path): \(decompile.error)")
      #expect(
        CommandRun("model", "versions", compiled, "--format", "json", "--hashes").output == original.output,
        "\(url.path)")
      #expect(
        CommandRun("model", "versions", source, "--format", "json", "--hashes").output == original.output,
        "\(url.path)")
      done += 1
    }
    #expect(done >= 50)
  }
}
