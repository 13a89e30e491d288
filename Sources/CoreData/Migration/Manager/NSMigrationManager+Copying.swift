// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension NSMigrationManager {
  /// Has SQL carry the migration out where nobody but the framework has a say in it: no policy, no subclass of the manager,
  /// no expression that needs objects of the destination, or what earlier migrations have made there.
  ///
  /// - Returns: whether that was done. Where it was not the destination is as it was. What is wrong, be it with mappings,
  ///   data or files, is then told by the objects, which are asked one by one: the error is the same whichever way.
  func copies(
    from source: SourceStore, at sourceURL: URL, _ mapping: NSMappingModel, to destination: URL,
    options: [AnyHashable: Any]?
  ) throws -> Bool {
    guard usesStoreSpecificMigrationManager, type(of: self) == NSMigrationManager.self else { return false }
    var work = MappingCopy(
      mapping: mapping, sourceModel: sourceModel, destinationModel: destinationModel,
      configuration: source.configuration)
    let sourceIdentifier = source.metadata[NSStoreUUIDKey] as? String ?? ""
    var stores = [sourceIdentifier, sourceIdentifier]
    do {
      if try !StoreFile.isNew(destination) {
        let metadata = try SQLiteStore.metadataForPersistentStore(with: destination)
        guard let found = SourceStore.configuration(of: destinationModel, fitting: metadata) else { return false }
        work.destinationConfiguration = found.name
        stores[1] = metadata[NSStoreUUIDKey] as? String ?? ""
        if associations.stores == stores { work.earlier = associations }
      }
    } catch {
      // A destination that cannot be read: told by who opens it for the objects.
      return false
    }
    work.willCopy = { [unowned self] in show($0) }
    work.didCopy = { [unowned self] in
      // The passes over relationships and rules, which SQL makes along with the rows.
      for part in [0.94, 0.98] {
        for mapping in mapping.entityMappings { show(mapping) }
        show(progress: Float(part))
      }
      try checkCancellation()
    }
    do {
      guard try work.barrier() == nil else { return false }
      let report = try work.run(
        from: sourceURL, to: destination,
        metadata: source.metadata.filter { !StoreMetadata.ownKeys.contains($0.key) },
        options: StoreOptions(options)
      ) { [unowned self] fraction in
        // At the end the destination is there, and it is too late.
        if fraction < 1 { try checkCancellation() }
        show(progress: Float(fraction))
      }
      associations = Self.associations(of: report.copies, after: work.earlier, stores: stores)
      return true
    } catch {
      // Nothing is there of what SQL made. Who cancelled is told so; all else is met again, and told, by the objects.
      try checkCancellation()
      return false
    }
  }

  /// What became of what, for migrations of other mapping models into the same store.
  private static func associations(
    of copies: [EntityCopy], after earlier: Associations, stores: [String]
  ) -> Associations {
    let associations = earlier.stores == stores ? earlier : Associations(stores: stores)
    for copy in copies {
      let table = associations.add(
        AssociationTable(source: Int32(copy.rows.entity.number), destination: Int32(copy.destination.number)),
        named: copy.name)
      associations.addAll(copy.keys, offset: copy.offset, isPartial: copy.rows.filter != nil, to: table)
    }
    return associations
  }
}
