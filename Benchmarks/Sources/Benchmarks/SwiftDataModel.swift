// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The first version of `NotesModel` as classes of SwiftData, so that both open the same stores.
enum SwiftDataModel {
  static let types: [any PersistentModel.Type] = [Note.self, Attachment.self, Tag.self]

  @Model final class Note {
    var title: String?
    var body: String?
    var fullName: String?
    var dateCreated: Date?
    var displayIndex: Int32?
    @Relationship(deleteRule: .cascade, inverse: \Attachment.note) var attachments: [Attachment]?
    @Relationship(inverse: \Tag.notes) var tags: [Tag]?

    init(_ note: DataSet.Note) {
      title = note.title
      body = note.body
      fullName = note.fullName
      dateCreated = Date(timeIntervalSinceReferenceDate: note.dateCreated)
      displayIndex = Int32(note.displayIndex)
    }
  }

  @Model final class Attachment {
    var caption: String?
    var width: Double?
    var height: Double?
    var note: Note?

    init() {}
  }

  @Model final class Tag {
    var name: String?
    var notes: [Note]?

    init() {}
  }
}
