// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import Foundation

/// The error for a store whose version is none of a plan's.
struct UnknownVersion {
  private let opening: ContainerMigration
  private let plan: PlannedStages

  init(_ opening: ContainerMigration, _ plan: PlannedStages) {
    (self.opening, self.plan) = (opening, plan)
  }

  /// Returns the error: which schema is nearest to the store, and where they differ.
  ///
  /// - Returns: `loadIssueModelContainer`, caused by `unknownSchema` or `backwardMigration`.
  func error(_ metadata: [String: Any]) -> SwiftDataError {
    let stored = SchemaWords.identifier(metadata)
    if let stored, let last = plan.versions.last, stored > last.identifier {
      return opening.backward(
        metadata, stored, latest: "the last schema of the migration plan \(plan.name), \(last.name) \(last.identifier)")
    }
    let compared = compare(metadata, stored)
    var words = [
      "The store \(opening.place) has a version that is none of the migration plan \(plan.name) "
        + "(\(SchemaWords.version(metadata)))."
    ]
    if let (version, differences) = compared {
      words.append("The nearest schema is \(version.name).")
      words.append(SchemaWords.text(differences, store: "the store", model: version.name))
      let outside = version.outsiders(plan.versions).map(\.typeName)
      if !outside.isEmpty {
        words.append(
          "\(version.name) contains \(outside.joined(separator: ", ")), declared outside of it: a change there changes "
            + "the schema, so declare a copy of the class as it was inside \(version.name).")
      }
      words.append(
        "Declare in \(version.name) exactly what was shipped, or add the store's version to the plan. The store is "
          + "unchanged.")
    }
    let unknown = SwiftDataError(
      .unknownSchema, words.joined(separator: " "),
      cause: NSError(
        domain: NSCocoaErrorDomain, code: NSManagedObjectModelReferenceNotFoundError,
        userInfo: [NSLocalizedDescriptionKey: "Cannot use staged migration with an unknown model version."]),
      isAdvised: compared != nil, entity: compared?.differences.first?.entity,
      property: compared?.differences.first?.property)
    return SwiftDataError(.loadIssueModelContainer, cause: unknown)
  }

  /// Returns the version with the fewest differences; of several, the one whose identifier the store has, or the last.
  private func compare(
    _ metadata: [String: Any], _ stored: Schema.Version?
  ) -> (version: PlannedVersion, differences: [VersionDifference])? {
    let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    let carried = SchemaWords.carriedModel(opening.url)
    let all = plan.versions.map { version in
      let own = version.model.entityVersionHashesByName.filter { name, _ in
        opening.part == nil || hashes[name] != nil
          || opening.configuration.schema?.entitiesByName[name] != nil
      }
      return (
        version: version,
        differences: VersionDifference.between(
          store: hashes, model: own, documents: carried.map { ($0.document, version.model.document) })
      )
    }
    func rank(_ item: (version: PlannedVersion, differences: [VersionDifference])) -> (Int, Int) {
      (item.differences.count, item.version.identifier == stored ? 0 : 1)
    }
    return all.reversed().min { rank($0) < rank($1) }
  }
}

extension ContainerMigration {
  /// The error for a store that is later than the schema.
  func backward(_ metadata: [String: Any], _ stored: Schema.Version, latest: String) -> SwiftDataError {
    let backward = SwiftDataError(
      .backwardMigration,
      "The store \(place) is of version \(stored), later than \(latest): a newer version of the app has "
        + "migrated it (\(SchemaWords.version(metadata))). Open it with that version, or restore a backup. "
        + "The store is unchanged.",
      cause: NSError(
        domain: NSCocoaErrorDomain, code: NSStagedMigrationBackwardMigrationError,
        userInfo: [NSLocalizedDescriptionKey: "Staged migration would go backwards."]))
    return SwiftDataError(.loadIssueModelContainer, cause: backward)
  }
}
