//
//  StoreMigrator.swift
//  OrderBook
//
//  Created by Martin Kessler on 21.08.24.
//

import CoreData

enum ModelVersion: String, CaseIterable {
    case version1 = "OrderBook"
    case version2 = "OrderBook 2"
    case version3 = "OrderBook 3"

    static var current: ModelVersion {
        return allCases.last!
    }

    var next: ModelVersion? {
        switch self {
        case .version1: return .version2
        case .version2: return .version3
        case .version3: return nil
        }
    }

    var model: NSManagedObjectModel {
        let url = Bundle.main.url(forResource: rawValue, withExtension: "mom", subdirectory: "OrderBook.momd")!
        return NSManagedObjectModel(contentsOf: url)!
    }

    init?(compatibleWith metadata: [String: Any]) {
        let match = ModelVersion.allCases.first {
            $0.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        }
        guard let version = match else { return nil }
        self = version
    }
}

/// Migrates step by step, there is no mapping model from version 1 to 3.
final class StoreMigrator {

    func requiresMigration(at url: URL) throws -> Bool {
        guard FileManager.default.fileExists(atPath: url.path) else { return false }
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
        return !ModelVersion.current.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    }

    func migrateStoreIfNeeded(at url: URL) throws {
        guard try requiresMigration(at: url) else { return }
        try checkpointWAL(at: url)

        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
        guard var version = ModelVersion(compatibleWith: metadata) else {
            throw OrderBookError.storeVersionUnknown
        }

        var currentURL = url
        while let next = version.next {
            let stepURL = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".sqlite")
            try migrate(from: version, at: currentURL, to: next, at: stepURL)
            if currentURL != url {
                try destroyStore(at: currentURL)
            }
            currentURL = stepURL
            version = next
        }

        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: ModelVersion.current.model)
        try coordinator.replacePersistentStore(at: url,
                                               destinationOptions: nil,
                                               withPersistentStoreFrom: currentURL,
                                               sourceOptions: nil,
                                               ofType: NSSQLiteStoreType)
        if currentURL != url {
            try destroyStore(at: currentURL)
        }
    }

    // MARK: - Steps

    func mappingModel(from source: ModelVersion, to destination: ModelVersion) throws -> NSMappingModel {
        let sourceModel = source.model
        let destinationModel = destination.model
        if let custom = NSMappingModel(from: [Bundle.main], forSourceModel: sourceModel, destinationModel: destinationModel) {
            return custom
        }
        guard destination != .version3 else {
            throw OrderBookError.missingMappingModel
        }
        return try NSMappingModel.inferredMappingModel(forSourceModel: sourceModel, destinationModel: destinationModel)
    }

    private func migrate(from source: ModelVersion, at sourceURL: URL, to destination: ModelVersion, at destinationURL: URL) throws {
        let mapping = try mappingModel(from: source, to: destination)
        let manager = NSMigrationManager(sourceModel: source.model, destinationModel: destination.model)
        try manager.migrateStore(from: sourceURL,
                                 sourceType: NSSQLiteStoreType,
                                 options: nil,
                                 with: mapping,
                                 toDestinationURL: destinationURL,
                                 destinationType: NSSQLiteStoreType,
                                 destinationOptions: nil)
    }

    private func destroyStore(at url: URL) throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
        try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
    }

    /// The migration manager copies the main file only, so write the log back first.
    private func checkpointWAL(at url: URL) throws {
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
        guard let version = ModelVersion(compatibleWith: metadata) else { return }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: version.model)
        let options = [NSSQLitePragmasOption: ["journal_mode": "DELETE"]]
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
        try coordinator.remove(store)
    }

}
