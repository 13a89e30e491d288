// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of gym0915/IslandNotes.
enum IslandNotes {
  static let models: [any PersistentModel.Type] = [NoteRecord.self, WorkbenchRecord.self]

  @Model
  final class NoteRecord {
    var archivedAt: Date?
    var body: String
    var contentVersion: Int = 0
    var createdAt: Date
    @Attribute(.unique) var id: UUID
    var modifiedAt: Date

    init(body: String, createdAt: Date, id: UUID, modifiedAt: Date) {
      self.body = body
      self.createdAt = createdAt
      self.id = id
      self.modifiedAt = modifiedAt
    }
  }

  @Model
  final class WorkbenchRecord {
    var currentNoteID: UUID
    @Attribute(.unique) var singletonKey: String

    init(currentNoteID: UUID, singletonKey: String) {
      self.currentNoteID = currentNoteID
      self.singletonKey = singletonKey
    }
  }
}
