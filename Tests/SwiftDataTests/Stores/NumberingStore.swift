// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

@Model
final class Note {
  var text: String
  var number = 0

  init(text: String) {
    self.text = text
  }
}

/// A snapshot with the properties of one class.
struct NoteSnapshot: DataStoreSnapshot {
  var persistentIdentifier: PersistentIdentifier
  var text: String
  var number: Int

  init(from backingData: any BackingData, relatedBackingDatas: inout [PersistentIdentifier: any BackingData]) {
    guard let data = backingData as? any BackingData<Note>, let identifier = data.persistentModelID else {
      preconditionFailure("The store keeps only notes.")
    }
    persistentIdentifier = identifier
    text = data.getValue(forKey: \.text)
    number = data.getValue(forKey: \.number)
  }

  func copy(
    persistentIdentifier: PersistentIdentifier, remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]?
  ) -> NoteSnapshot {
    var copy = self
    copy.persistentIdentifier = persistentIdentifier
    return copy
  }
}

/// A store in memory that numbers notes.
final class NumberingStore: DataStore, HistoryProviding {
  let configuration: NumberingConfiguration
  let identifier = "numbers"
  let schema: Schema
  static var historyType: NumberTransaction.Type { NumberTransaction.self }
  private var notes: [PersistentIdentifier: NoteSnapshot] = [:]
  private var transactions: [NumberTransaction] = []

  init(_ configuration: NumberingConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    self.configuration = configuration
    schema = configuration.schema ?? Schema()
  }

  func fetch<T: PersistentModel>(
    _ request: DataStoreFetchRequest<T>
  ) throws -> DataStoreFetchResult<T, NoteSnapshot> {
    if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
    // The order is that of the numbers, whatever the request says.
    return DataStoreFetchResult(
      descriptor: request.descriptor, fetchedSnapshots: notes.values.sorted { $0.number < $1.number })
  }

  func save(
    _ request: DataStoreSaveChangesRequest<NoteSnapshot>
  ) throws -> DataStoreSaveChangesResult<NoteSnapshot> {
    var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
    var numbered: [PersistentIdentifier: NoteSnapshot] = [:]
    for note in request.inserted {
      let number = notes.count + numbered.count + 1
      let final = try PersistentIdentifier.identifier(for: identifier, entityName: "Note", primaryKey: number)
      remapped[note.persistentIdentifier] = final
      var copy = note.copy(persistentIdentifier: final, remappedIdentifiers: nil)
      copy.number = number
      numbered[final] = copy
    }
    for note in request.updated { notes[note.persistentIdentifier] = note }
    for note in request.deleted { notes[note.persistentIdentifier] = nil }
    notes.merge(numbered) { $1 }
    transactions.append(
      NumberTransaction(author: request.editingState.author, transactionIdentifier: transactions.count + 1))
    return DataStoreSaveChangesResult(
      for: identifier, remappedIdentifiers: remapped, snapshotsToReregister: numbered,
      historyToken: transactions.last?.token)
  }

  func fetchHistory(_ descriptor: HistoryDescriptor<NumberTransaction>) throws -> [NumberTransaction] { transactions }
  func deleteHistory(_ descriptor: HistoryDescriptor<NumberTransaction>) throws { transactions = [] }
}

struct NumberingConfiguration: DataStoreConfiguration {
  typealias Store = NumberingStore
  var name = "numbers"
  var schema: Schema?
}

/// A save of a `NumberingStore`.
struct NumberTransaction: HistoryTransaction {
  struct Token: HistoryToken {
    var tokenValue: Int?
    var id: Int { tokenValue ?? 0 }

    static func < (left: Token, right: Token) -> Bool { left.id < right.id }
  }

  var author: String?
  var transactionIdentifier: Int
  var changes: [HistoryChange] { [] }
  var storeIdentifier: String { "numbers" }
  var timestamp: Date { Date(timeIntervalSinceReferenceDate: Double(transactionIdentifier)) }
  var token: Token { Token(tokenValue: transactionIdentifier) }
  var id: Int { transactionIdentifier }

  static func == (left: NumberTransaction, right: NumberTransaction) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
