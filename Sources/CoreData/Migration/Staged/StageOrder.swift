// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The versions of all stages in one line.
struct StageOrder {
  /// A step with work of the program, and its places in the line.
  struct Custom {
    let stage: NSCustomMigrationStage
    let start: Int
    let end: Int
  }

  /// Version checksums, in order.
  private(set) var checksums: [String] = []
  private(set) var customs: [Custom] = []
  /// Checksums that several stages have.
  private(set) var repeated: [String] = []

  init(_ stages: [NSMigrationStage]) {
    var seen: Set<String> = []
    var isAfterCustom = false
    for stage in stages {
      let custom = stage as? NSCustomMigrationStage
      var own = stage.checksums
      if isAfterCustom, custom != nil, own.first == checksums.last { own.removeFirst() }
      repeated += Set(own).intersection(seen).sorted()
      seen.formUnion(own)
      checksums += own
      if let custom {
        let end = checksums.count - 1
        customs.append(Custom(stage: custom, start: end - 1, end: end))
      }
      isAfterCustom = custom != nil
    }
  }
}
