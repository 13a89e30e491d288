// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

/// Checks whether the stages of a staged migration follow the order of a model's versions: VR406.
struct StageRules {
  private let versions: [ModelVersion]
  private let checksums: [String]
  /// The name of the current version.
  private let current: String
  private(set) var entries: [ModelLint.Entry] = []
  /// The number of the first stage that has each version, by the version's checksum.
  private var stageOfVersion: [String: Int] = [:]

  /// - Parameter lock: the versions that have been shipped; nil if they are unknown.
  init(_ stages: [NSMigrationStage], _ versions: [ModelVersion], current: String, lock: VersionLock?) {
    self.versions = versions
    self.current = current
    checksums = versions.map(\.versionHashes.checksum)
    judgeOrder(stages)
    judgeGaps(lock)
  }

  private mutating func judgeOrder(_ stages: [NSMigrationStage]) {
    var last: Int?
    var customEnd: String?
    for (index, stage) in stages.enumerated() {
      let title = title(of: stage, index + 1)
      var own = stage.checksums
      if own.isEmpty { add(current, "\(title) names no version") }
      // A custom stage may begin where the previous one ends.
      if stage is NSCustomMigrationStage, let customEnd, own.first == customEnd { own.removeFirst() }
      for checksum in own {
        guard let position = position(of: checksum, after: last) else {
          add(current, "\(title): no version of the model has the checksum \(checksum)")
          continue
        }
        let name = versions[position].name
        if let earlier = stageOfVersion[checksum] {
          add(name, "\(title) has \(name), which stage \(earlier) has already")
          continue
        }
        stageOfVersion[checksum] = index + 1
        if let last, position < last {
          add(name, "\(title) goes back: \(name) comes before \(versions[last].name)")
        }
        last = position
      }
      customEnd = stage is NSCustomMigrationStage ? stage.checksums.last : nil
    }
  }

  /// Reports versions up to the current one that are in no stage.
  private mutating func judgeGaps(_ lock: VersionLock?) {
    guard let end = versions.firstIndex(where: { $0.name == current }) else { return }
    for position in 0...end where stageOfVersion[checksums[position]] == nil {
      let name = versions[position].name
      if position == end {
        add(name, "no stage leads to \(name), the current version")
      } else if let lock, !lock.has(name) {
        add(name, "no stage has \(name), which is not locked and so has no stores", .information)
      } else {
        add(name, "no stage has \(name), so that stores of it are refused")
      }
    }
  }

  /// Returns the position of a version; if several are equal, the first that does not go back.
  private func position(of checksum: String, after last: Int?) -> Int? {
    let all = checksums.indices.filter { checksums[$0] == checksum }
    return all.first { $0 > last ?? -1 } ?? all.first
  }

  /// Returns `stage 2 ('Split orders')`, or the stage's versions.
  private func title(of stage: NSMigrationStage, _ number: Int) -> String {
    if let label = stage.historyLabel { return "stage \(number) ('\(label)')" }
    let names = stage.checksums.map { checksum in
      checksums.firstIndex(of: checksum).map { versions[$0].name } ?? checksum
    }
    return "stage \(number)" + (names.isEmpty ? "" : " (\(names.joined(separator: " to ")))")
  }

  private mutating func add(_ version: String, _ message: String, _ level: Finding.Level = .error) {
    let finding = ModelLint.finding(.stagesOutOfOrder, level, message)
    let document = versions.first { $0.name == version }?.document
    entries.append(
      .init(version, finding.allowed(by: document.flatMap { .inModel(.stagesOutOfOrder, anywhereIn: $0) })))
  }
}
