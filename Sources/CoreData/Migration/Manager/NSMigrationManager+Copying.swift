// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSMigrationManager {
  /// Has SQL carry the migration out where nobody but the framework has a say in it: no policy, no subclass of the manager,
  /// a new destination, no expression that needs objects of the destination.
  ///
  /// - Returns: whether that was done. Where it was not the destination is as it was. What is wrong, be it with mappings,
  ///   data or files, is then told by the objects, which are asked one by one: the error is the same whichever way.
  func copies(
    from source: SourceStore, at sourceURL: URL, _ mapping: NSMappingModel, to destination: URL,
    options: [AnyHashable: Any]?
  ) throws -> Bool {
    guard usesStoreSpecificMigrationManager, type(of: self) == NSMigrationManager.self, associations.knownNames.isEmpty,
      try StoreFile.isNew(destination)
    else { return false }
    var work = MappingCopy(
      mapping: mapping, sourceModel: sourceModel, destinationModel: destinationModel,
      configuration: source.configuration)
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
        pragmas: StoreOptions(options).pragmas
      ) { [unowned self] fraction in
        // At the end the destination is there, and it is too late.
        if fraction < 1 { try checkCancellation() }
        show(progress: Float(fraction))
      }
      associate(report.copies, stores: source.metadata[NSStoreUUIDKey] as? String ?? "")
      return true
    } catch {
      try checkCancellation()
      return false
    }
  }

  /// Notes what became of what, for migrations of other mapping models into the same store.
  private func associate(_ copies: [EntityCopy], stores identifier: String) {
    let associations = Associations(stores: [identifier, identifier])
    for copy in copies {
      let table = associations.add(
        AssociationTable(source: Int32(copy.rows.entity.number), destination: Int32(copy.destination.number)),
        named: copy.name)
      associations.addAll(copy.keys, offset: copy.offset, isPartial: copy.rows.filter != nil, to: table)
    }
    self.associations = associations
  }
}
