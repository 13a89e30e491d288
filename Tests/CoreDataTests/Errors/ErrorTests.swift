// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation
import Testing

@testable import CoreData

@Suite("Errors")
struct ErrorTests {
  private let url = URL(fileURLWithPath: "/tmp/Notes.sqlite")

  @Test("Codes have Apple's numbers, and Swift's names for them")
  func codes() {
    #expect(NSPersistentStoreIncompatibleVersionHashError == 134100)
    #expect(NSInferredMappingModelError == 134190)
    #expect(NSStagedMigrationBackwardMigrationError == 134506)
    #expect(CocoaError.Code.persistentStoreIncompatibleVersionHash.rawValue == 134100)
    #expect(CocoaError(.migrationMissingMappingModel).errorCode == 134140)
    #expect(CocoaError.sqlite == CocoaError.Code(rawValue: NSSQLiteError))
  }

  @Test("An error can be caught by its domain and Swift's name of its code")
  func catching() {
    do {
      throw StoreErrors.readOnly(url: url)
    } catch let error as NSError where error.domain == NSCocoaErrorDomain {
      #expect(CocoaError.Code(rawValue: error.code) == .fileWriteNoPermission)
      #expect(error.userInfo["URL"] as? URL == url)
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test("Errors are told apart by domain and code")
  func domains() {
    // A code for which Foundation has no words.
    let file = NSError(domain: NSCocoaErrorDomain, code: 512)
    let foreign = NSError(domain: "com.example.App", code: 512)
    #expect(file.isCocoa && file.isCocoa(512) && !file.isCocoa(4) && file.isFoundationFileError)
    #expect(!foreign.isCocoa && !foreign.isCocoa(512) && !foreign.isFoundationFileError)
    #expect(!StoreErrors.readOnly(url: url).isFoundationFileError)
  }

  @Test("Errors of a program pass the translation of errors about files as they are")
  func foreign() {
    let foreign = NSError(domain: "com.example.App", code: 512, userInfo: [NSLocalizedDescriptionKey: "my own words"])
    func translated(_ error: NSError) -> NSError? {
      do {
        try ErrorTranslation.translating(url: url, during: .use) { throw error }
        return nil
      } catch {
        // The way of an app: a cast of what was thrown to the class has the domain that the thrown value says.
        return error as NSError
      }
    }
    #expect(translated(foreign)?.domain == foreign.domain && translated(foreign)?.code == 512)
    #expect(translated(foreign)?.localizedDescription == "my own words")
    let file = translated(NSError(domain: NSCocoaErrorDomain, code: 512))
    #expect(file?.domain == NSCocoaErrorDomain && file?.localizedFailureReason?.contains(url.path) == true)
  }

  @Test("What another program writes fails a migration; a store that is to be replaced is in use")
  func intrusion() {
    func code(_ intrusion: StoreWriteLock.Intrusion, _ work: ErrorContext.Work) -> Int {
      (ErrorTranslation.translated(intrusion, url: url, during: work) as NSError).code
    }
    for intrusion in [StoreWriteLock.Intrusion.changed, .moved] {
      #expect(code(intrusion, .use) == NSMigrationError)
      #expect(code(intrusion, .replacement) == NSPersistentStoreTimeoutError)
    }
    #expect(code(.inUse, .use) == NSPersistentStoreTimeoutError)
  }

  @Test("Row conflicts, and errors that have been translated, pass the translation as they are")
  func passing() {
    let conflicts = ErrorTranslation.translated(RowConflicts(conflicts: []), url: url, during: .use)
    #expect(conflicts is RowConflicts)
    let problem = StoreFileProblem.missing(path: url.path)
    let once = ErrorTranslation.translated(problem, url: url, during: .opening) as NSError
    let twice = ErrorTranslation.translated(once, url: URL(fileURLWithPath: "/elsewhere"), during: .use) as NSError
    #expect(once === twice && once.isCocoa(CocoaError.Code.fileReadNoSuchFile.rawValue))
  }

  @Test("134100 says which entities differ and how, and carries the metadata")
  func incompatibleVersionHash() {
    var differences = VersionDifference.between(
      store: ["A": Data([1]), "B": Data([1]), "C": Data([1])], model: ["B": Data([1]), "C": Data([2]), "D": Data([1])])
    #expect(
      differences == [
        VersionDifference(entity: "A", .missingInModel),
        VersionDifference(entity: "C", .hash(store: "01", model: "02")),
        VersionDifference(entity: "D", .missingInStore),
      ])
    differences.append(
      VersionDifference(entity: "C", property: "size", .aspect("type", store: "Integer 16", model: "Double")))
    let error = StoreErrors.incompatibleVersionHash(url: url, metadata: ["key": 1], differences: differences)
    #expect(error.code == 134100)
    #expect(error.domain == NSCocoaErrorDomain)
    #expect((error.userInfo["metadata"] as? [String: Any])?["key"] as? Int == 1)
    #expect(
      error.userInfo["reason"] as? String
        == "The model used to open the store is incompatible with the one used to create the store: "
        + "Entity 'A' is in the store, but not in the model. "
        + "Entity 'C' is not the same: its version hash begins with 01 in the store, with 02 in the model. "
        + "Entity 'D' is in the model, but not in the store. "
        + "The property 'size' of entity 'C': type is Integer 16 in the store, Double in the model.")
    #expect(error.localizedDescription.contains("is incompatible with the one"))
    #expect(error.localizedRecoverySuggestion?.contains("NSMigratePersistentStoresAutomaticallyOption") == true)
  }

  @Test(
    "SQLite's failures become Cocoa's, with SQLite's code",
    arguments: [
      (11, 259), (26, 259), (13, 640), (8, 513), (5, 134090), (6, 134090), (1, 134180), (2067, 134180), (14, 260),
    ] as [(Int32, Int)])
  func sqlite(code: Int32, cocoa: Int) {
    let missing = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("\(UUID().uuidString).sqlite")
    let failure = SQLiteError(extendedCode: code, message: "went wrong", sql: "SELECT 1", path: missing.path)
    let error = SQLiteErrors.error(failure, url: missing)
    #expect(error.code == cocoa)
    #expect(error.userInfo[NSSQLiteErrorDomain] as? Int == Int(code & 0xFF))
    #expect(error.localizedFailureReason?.contains("went wrong") == true)
    #expect(error.userInfo[NSUnderlyingErrorKey] is SQLiteError)
    #expect(error.localizedRecoverySuggestion?.isEmpty == false)
  }

  @Test("While opening, other failures of SQLite are 134080")
  func opening() {
    let failure = SQLiteError(extendedCode: 1, message: "went wrong", sql: nil, path: url.path)
    #expect(SQLiteErrors.error(failure, url: url, isOpening: true).code == NSPersistentStoreOpenError)
    let folder = SQLiteError(extendedCode: 14, message: "went wrong", sql: nil, path: "/nowhere/at/all.sqlite")
    #expect(SQLiteErrors.error(folder, url: nil, isOpening: true).code == NSPersistentStoreOpenError)
  }

  @Test("Several validation errors become one that holds them")
  func validation() throws {
    let text = NSAttributeDescription()
    text.name = "text"
    let note = NSEntityDescription()
    note.name = "Note"
    note.properties = [text]
    let subject = ValidationErrors.Subject(text, nil, NSManagedObject(entity: note, insertInto: nil))
    let missing = ValidationErrors.missingValue(subject)
    #expect(missing.code == 1570)
    #expect(missing.localizedDescription == "text is a required value.")
    #expect(missing.userInfo[NSValidationKeyErrorKey] as? String == "text")
    #expect(missing.userInfo[NSValidationObjectErrorKey] as AnyObject === subject.object)
    let long = ValidationErrors.unmet(nil, rule: "length <= 8", code: 1660, text: nil, subject)
    #expect(long.code == 1660)
    #expect(long.localizedDescription == "text is too long.")
    #expect(ValidationErrors.unmet(nil, rule: "r", code: nil, text: "No.", subject).localizedDescription == "No.")
    #expect(ValidationErrors.combined([]) == nil)
    #expect(ValidationErrors.combined([missing]) === missing)
    let both = try #require(ValidationErrors.combined([missing, long]))
    #expect(both.code == 1560)
    #expect((both.userInfo[NSDetailedErrorsKey] as? [NSError])?.map(\.code) == [1570, 1660])
    let same = try #require(ValidationErrors.combined([missing, long, missing, missing]))
    #expect(
      same.localizedFailureReason == "'text' of 'Note' has no value, but is not optional (3 objects). "
        + "'text' of 'Note' is 'nil', which does not satisfy length <= 8.")
    let migrated = try #require(ValidationErrors.migrated([missing, missing]) { _ in "Old/p7" })
    #expect(migrated.code == 1560)
    #expect(
      migrated.localizedFailureReason
        == "'text' of 'Note' has no value, but is not optional (2 objects: Old/p7, Old/p7).")
    let one = try #require(ValidationErrors.migrated([missing]) { _ in "Old/p7" })
    #expect(one.code == 1570 && one.userInfo[NSValidationKeyErrorKey] as? String == "text")
    #expect(one.localizedFailureReason == "'text' of 'Note' has no value, but is not optional (Old/p7).")
    let nested = try #require(ValidationErrors.combined([both, missing]))
    #expect((nested.userInfo[NSDetailedErrorsKey] as? [NSError])?.map(\.code) == [1570, 1660, 1570])
    #expect(ValidationErrors.tooFew(subject, count: 1, minimum: 2).code == 1580)
    #expect(ValidationErrors.tooMany(subject, count: 3, maximum: 2).code == 1590)
    #expect(ValidationErrors.deniedDelete(subject, count: 3).code == 1600)
  }

  @Test(
    "Every builder gives reason, advice and code",
    arguments: [
      (134000, StoreErrors.invalidType("XYZ", known: ["SQLite", "InMemory"])),
      (134070, StoreErrors.operationFailed(url: nil, reason: "It is gone.")),
      (134080, StoreErrors.cannotOpen(url: nil, reason: "It is gone.")),
      (134080, StoreErrors.unknownConfiguration("A", known: ["B"], url: nil)),
      (259, StoreErrors.notAStore(url: URL(fileURLWithPath: "/a"), reason: "It is text.")),
      (260, StoreErrors.noSuchFile(url: URL(fileURLWithPath: "/a"))),
      (134110, MigrationErrors.unplannedLoss(url: nil, dropped: [])),
      (134111, MigrationErrors.constraintViolation(url: nil, entity: "E", properties: ["a"], values: "1")),
      (134120, MigrationErrors.cancelled(url: nil)),
      (134130, MigrationErrors.missingSourceModel(url: nil, metadata: [:], searched: ["/a"])),
      (134140, MigrationErrors.missingMappingModel(url: nil, models: .init())),
      (134150, MigrationErrors.sourceStore(url: nil, reason: "It is gone.")),
      (134160, MigrationErrors.destinationStore(url: nil, reason: "It is full.")),
    ] as [(Int, NSError)])
  func builders(code: Int, error: NSError) {
    #expect(error.code == code)
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.userInfo[NSLocalizedDescriptionKey] is String)
    #expect(error.userInfo["reason"] as? String == error.localizedFailureReason)
    #expect(error.localizedRecoverySuggestion?.hasSuffix(".") == true)
  }

  @Test("Errors of Foundation's file functions get words where stores are opened and used; those of programs stay")
  func foundationFiles() throws {
    let files = FileManager.default
    let missing = files.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let below = URL(fileURLWithPath: "/dev/null").appendingPathComponent(missing.lastPathComponent)
    let attempts: [() throws -> Void] = [
      { try files.removeItem(at: missing) }, { try files.copyItem(at: missing, to: below) },
      { try files.createDirectory(at: below, withIntermediateDirectories: true) },
      { _ = try Data(contentsOf: missing) }, { try Data("a".utf8).write(to: below) },
      { throw NSError(domain: NSCocoaErrorDomain, code: 512) },
    ]
    for (number, attempt) in attempts.enumerated() {
      let error = try #require(throws: NSError.self) {
        try ErrorTranslation.translating(url: missing, during: .opening, attempt)
      }
      let reason = error.localizedFailureReason ?? ""
      // Of a missing file Foundation itself says so, and which file it is.
      let path = error.userInfo[NSFilePathErrorKey] as? String
      let isNamed = reason.contains(missing.lastPathComponent) || path == missing.path
      #expect(error.isCocoa && !reason.isEmpty && isNamed, "\(number): \(error)")
      #expect(!error.localizedDescription.contains("error \(error.code)"), "\(number): \(error.localizedDescription)")
    }
    let own = try #require(throws: NSError.self) {
      try ErrorTranslation.translating(url: missing, during: .opening) {
        throw NSError(domain: NSCocoaErrorDomain, code: NSValidationMissingMandatoryPropertyError)
      }
    }
    #expect(own.code == NSValidationMissingMandatoryPropertyError && own.localizedFailureReason == nil)
  }
}
