// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// One way to change a store as a whole, which is killed and made to fail at every moment.
enum TortureCase: String, CaseIterable, Sendable {
  case inPlace
  case droppingFiles
  case inPlaceWithoutLog
  case byMapping
  case byMappingWithoutLog
  case overLink
  case byPolicy
  case threeSteps
  case externalData
  case hotLog
  case settingAside
  case restoring
  case replacing
  case replacingDestroyed
  case destroying

  /// Those that are tortured: all, or those that `COREDATA_TORTURE_CASES` names, separated by commas.
  static let chosen: [TortureCase] = {
    let names = ProcessInfo.processInfo.environment["COREDATA_TORTURE_CASES"]?.split(separator: ",").map(String.init)
    return allCases.filter { names?.contains($0.rawValue) ?? true }
  }()

  var photos: Int {
    switch self {
    case .externalData, .settingAside, .restoring, .droppingFiles, .byMappingWithoutLog, .overLink: 3
    case .replacing: 2
    default: 0
    }
  }

  /// What has the store's name in the directory of a run.
  static let storeName = "Data.sqlite"

  /// Makes the files that each run begins with a copy of.
  func prepare(in folder: URL) throws {
    let url = folder.appendingPathComponent("Data.sqlite")
    if self == .restoring {
      try RecoverySample.fill(url, rows: 30, photos: photos)
      try StoreRecovery.setAside(storeAt: url, model: RecoverySample.model(2))
      return
    }
    if self == .replacing || self == .replacingDestroyed {
      try RecoverySample.fill(folder.appendingPathComponent("Other.sqlite"), rows: 11, photos: 1)
    }
    if self == .replacingDestroyed {
      try RecoverySample.fill(url, rows: 3, photos: 0)
      return try NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
        .destroyPersistentStore(at: url, type: .sqlite)
    }
    if self == .overLink {
      let real = folder.appendingPathComponent("real", isDirectory: true)
      try FileManager.default.createDirectory(at: real, withIntermediateDirectories: false)
      try RecoverySample.fill(real.appendingPathComponent(Self.storeName), rows: 30, photos: photos)
      for name in [Self.storeName, ".Data_SUPPORT"] {
        try FileManager.default.createSymbolicLink(
          atPath: folder.appendingPathComponent(name).path, withDestinationPath: "real/\(name)")
      }
      return
    }
    guard self == .hotLog else {
      try RecoverySample.fill(url, rows: 30, photos: photos)
      guard self == .inPlaceWithoutLog || self == .byMappingWithoutLog else { return }
      let connection = try SQLiteConnection(url: url, mode: .readWrite)
      try connection.setJournalMode(.delete)
      return try connection.close()
    }
    let cold = folder.appendingPathComponent("Cold.sqlite")
    try RecoverySample.fill(cold, rows: 30, photos: photos)
    let connection = try SQLiteConnection(url: cold, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: cold.path + suffix, toPath: url.path + suffix)
    }
    try connection.close()
    try StoreFiles.remove(at: cold)
  }

  /// Does what is to be killed.
  func run(in folder: URL) throws {
    let url = folder.appendingPathComponent("Data.sqlite")
    switch self {
    case .inPlace, .inPlaceWithoutLog: try migrate(url, [(2, .inferred)])
    case .droppingFiles: try migrate(url, [(5, .inferred)])
    case .byMapping, .externalData, .hotLog, .byMappingWithoutLog, .overLink: try migrate(url, [(2, .mapping)])
    case .byPolicy:
      MigrationPolicyClasses.register(TorturePolicy.self)
      try RecoverySample.migration(url, [(2, .mapping)], policy: "TorturePolicy").run()
    case .threeSteps: try migrate(url, [(2, .inferred), (3, .mapping), (4, .inferred)])
    case .settingAside: try StoreRecovery.setAside(storeAt: url, model: RecoverySample.model(2))
    case .restoring:
      let aside = try StoreRecovery.storesSetAside(from: url)[0]
      _ = try StoreRecovery.restore(RecoverySample.migration(aside.url, [(2, .inferred)]), to: url)
    case .replacing, .replacingDestroyed:
      try NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1)).replacePersistentStore(
        at: url, withPersistentStoreFrom: folder.appendingPathComponent("Other.sqlite"), type: .sqlite)
    case .destroying:
      try NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
        .destroyPersistentStore(at: url, type: .sqlite)
    }
  }

  private func migrate(_ url: URL, _ steps: [(to: Int, kind: StoreMigration.Step.Kind)]) throws {
    try RecoverySample.migration(url, steps).run()
  }
}
