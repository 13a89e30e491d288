// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Written from the model of preview.store by coredata model generate --swiftdata.

import Foundation
import SwiftData

/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.
enum GeneratedRetroview: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] {
    [Author.self, Collection.self, Crop.self, Date.self, StereoCard.self, Subject.self, Title.self]
  }

  @Model
  final class Author {
    var name: String
    @Relationship(inverse: \StereoCard.authors) var cards: [StereoCard] = []

    init(name: String) {
      self.name = name
    }
  }

  @Model
  final class Collection {
    var cardOrder: [UUID] = []
    var createdAt: Foundation.Date
    @Attribute(.unique) var id: UUID
    var name: String
    var updatedAt: Foundation.Date
    @Relationship(inverse: \StereoCard.collections) var cards: [StereoCard] = []

    init(createdAt: Foundation.Date, id: UUID, name: String, updatedAt: Foundation.Date) {
      self.createdAt = createdAt
      self.id = id
      self.name = name
      self.updatedAt = updatedAt
    }
  }

  @Model
  final class Crop {
    var score: Float
    var side: String
    var x0: Float
    var x1: Float
    var y0: Float
    var y1: Float
    @Relationship(deleteRule: .cascade) var card: StereoCard?

    init(score: Float, side: String, x0: Float, x1: Float, y0: Float, y1: Float) {
      self.score = score
      self.side = side
      self.x0 = x0
      self.x1 = x1
      self.y0 = y0
      self.y1 = y1
    }
  }

  @Model
  final class Date {
    var text: String
    @Relationship(inverse: \StereoCard.dates) var cards: [StereoCard]?

    init(text: String) {
      self.text = text
    }
  }

  @Model
  final class StereoCard {
    @Attribute(.externalStorage) var backStandardData: Data?
    @Attribute(.externalStorage) var backThumbnailData: Data?
    var cardColor: String = "#F5E6D3"
    var colorOpacity: Double
    @Attribute(.externalStorage) var frontStandardData: Data?
    @Attribute(.externalStorage) var frontThumbnailData: Data?
    var imageBackId: String?
    var imageFrontId: String?
    @Attribute(.unique) var uuid: UUID
    var authors: [Author] = []
    var collections: [Collection] = []
    @Relationship(deleteRule: .cascade, inverse: \Crop.card) var crops: [Crop] = []
    var dates: [Date] = []
    @Relationship(inverse: \Subject.cards) var subjects: [Subject] = []
    var titlePick: Title?
    @Relationship(deleteRule: .cascade, inverse: \Title.cards) var titles: [Title] = []

    init(colorOpacity: Double, uuid: UUID) {
      self.colorOpacity = colorOpacity
      self.uuid = uuid
    }
  }

  @Model
  final class Subject {
    var name: String
    var cards: [StereoCard] = []

    init(name: String) {
      self.name = name
    }
  }

  @Model
  final class Title {
    var text: String
    var cards: [StereoCard] = []
    @Relationship(inverse: \StereoCard.titlePick) var picks: [StereoCard] = []

    init(text: String) {
      self.text = text
    }
  }
}
