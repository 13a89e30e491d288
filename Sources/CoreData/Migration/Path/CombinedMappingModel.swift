// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// The mapping model for a step: the best of those that fit, and from the others what it leaves out.
///
/// Programs with large stores have several mapping models for the same two versions, each for some of the entities, to run
/// them one after another. Taking one alone would leave the objects of the others behind.
struct CombinedMappingModel {
  let model: NSMappingModel
  /// Why these were taken, in sentences.
  let reason: String

  /// - Parameter files: the mapping models that fit, best first; not empty.
  /// - Throws: the errors of reading mapping models.
  init(_ files: [MappingFile], source: NSManagedObjectModel, destination: NSManagedObjectModel) throws {
    let models = try files.map { try $0.mappingModel(source: source, destination: destination) }
    var mappings = models.first?.entityMappings ?? []
    var sentences = ["The mapping model \(files.first?.name ?? "") is for these two versions."]
    for (file, other) in zip(files, models).dropFirst() {
      let sources = Set(mappings.compactMap(\.sourceEntityName))
      let names = Set(mappings.map(\.name))
      let more = (other.entityMappings ?? []).filter { mapping in
        mapping.sourceEntityName.map { !sources.contains($0) } == true && !names.contains(mapping.name)
      }
      mappings += more
      let entities = Set(more.compactMap(\.sourceEntityName)).sorted().map { "'\($0)'" }.joined(separator: ", ")
      sentences.append(
        more.isEmpty
          ? "\(file.name) is for them too, and is not used: it maps no other entities."
          : "\(file.name) is for them too, and maps \(entities).")
    }
    let joined = NSMappingModel()
    joined.entityMappings = mappings
    model = files.count == 1 ? models[0] : joined
    reason = sentences.joined(separator: " ")
  }
}
