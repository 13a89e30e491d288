// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Damaged model files of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct MutationFixtureTests {
  /// Damages one file after another of a kind; each is read, or refused with an error of ours.
  private func read(
    _ files: [URL], count: Int, seed: UInt64, largest: Int = .max,
    mutate: (Data, inout SeededNumbers) throws -> Data = Mutation.bytes, _ read: (Data) throws -> Void
  ) throws {
    var numbers = SeededNumbers(seed: seed)
    let originals = try files.map { try Data(contentsOf: $0) }.filter { $0.count <= largest }
    try #require(!originals.isEmpty)
    var refused = 0
    for number in 0..<count {
      let input = try mutate(originals[number % originals.count], &numbers)
      do {
        try read(input)
      } catch is ModelFileError {
        refused += 1
      } catch is ArchiveFailure {
        refused += 1
      }
    }
    #expect(refused > 0)
  }

  @Test("Damaged compiled models are read or refused")
  func compiledModels() throws {
    let count = Mutation.count(default: 100)
    let open = { (data: Data) in try CompiledModelReader.document(of: data).validate() }
    try read(Fixtures.compiledModels, count: count, seed: 11, open)
    try read(Fixtures.compiledModels, count: count, seed: 12, mutate: Mutation.archive, open)
  }

  @Test("Damaged mapping models are read or refused")
  func mappings() throws {
    let count = Mutation.count(default: 100)
    let open = { (data: Data) in _ = try MappingDocument.document(of: data, file: Fixtures.root) }
    try read(Fixtures.compiledMappings, count: count, seed: 13, open)
    try read(Fixtures.compiledMappings, count: count, seed: 14, mutate: Mutation.archive, open)
    let sources = Fixtures.mappingSources.map { $0.appendingPathComponent("xcmapping.xml") }
    try read(sources, count: count, seed: 15, largest: 150_000, open)
  }

  @Test("Damaged model sources are read or refused")
  func sources() throws {
    let files = Fixtures.modelSources.map { $0.appendingPathComponent("contents") }
    try read(files, count: Mutation.count(default: 300), seed: 16) { data in
      try XCDataModelReader.document(of: data, file: Fixtures.root).validate()
    }
  }
}
