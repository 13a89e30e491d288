// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// How the objects of one version of a model become those of another.
open class NSMappingModel: NSObject {
  private var mappings: [NSEntityMapping] = []

  /// What the mapping was inferred from; nil for a mapping that was not inferred.
  internal var inferred: InferredMapping?

  /// Makes a mapping model without mappings.
  public override init() {
    super.init()
  }

  /// The mappings of the entities, in the order of processing. Setting nil empties the list.
  open var entityMappings: [NSEntityMapping]! {
    get { mappings }
    set {
      mappings = newValue ?? []
      inferred = nil
    }
  }

  /// The mappings of the entities by name.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary(mappings.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  open override var description: String {
    "(\(type(of: self)) {\(mappings.map { $0.name ?? "" }.joined(separator: ", "))})"
  }
}
