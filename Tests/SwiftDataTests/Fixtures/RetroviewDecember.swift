// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of atomicguy/Retroview in December 2024.
enum RetroviewDecember {
  static let models: [any PersistentModel.Type] = [
    Author.self, Collection.self, Crop.self, Date.self, StereoCard.self, Subject.self, Title.self,
  ]

  @Model
  final class Author {
    @Relationship(inverse: \StereoCard.authors) var cards: [StereoCard]
    var name: String

    init(name: String, cards: [StereoCard] = []) {
      self.cards = cards
      self.name = name
    }
  }

  @Model
  final class Collection {
    var cardOrder: [String] = []
    @Relationship(inverse: \StereoCard.collections) var cards: [StereoCard]
    var createdAt: Foundation.Date
    @Attribute(.unique) var id: UUID
    var name: String
    var updatedAt: Foundation.Date

    init(createdAt: Foundation.Date, id: UUID, name: String, updatedAt: Foundation.Date, cards: [StereoCard] = []) {
      self.cards = cards
      self.createdAt = createdAt
      self.id = id
      self.name = name
      self.updatedAt = updatedAt
    }
  }

  @Model
  final class Crop {
    @Relationship(deleteRule: .cascade) var card: StereoCard?
    var score: Float
    var side: String
    var x0: Float
    var x1: Float
    var y0: Float
    var y1: Float

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
    @Relationship(inverse: \StereoCard.dates) var cards: [StereoCard]?
    var text: String

    init(text: String, cards: [StereoCard]? = []) {
      self.cards = cards
      self.text = text
    }
  }

  @Model
  final class StereoCard {
    var authors: [Author]
    @Attribute(.externalStorage) var backStandardData: Data?
    @Attribute(.externalStorage) var backThumbnailData: Data?
    var cardColor: String = "#F5E6D3"
    var collections: [Collection]
    var colorOpacity: Double
    @Relationship(deleteRule: .cascade) var crops: [Crop]
    var dates: [Date]
    @Attribute(.externalStorage) var frontStandardData: Data?
    @Attribute(.externalStorage) var frontThumbnailData: Data?
    var imageBackId: String?
    var imageFrontId: String?
    @Relationship(inverse: \Subject.cards) var subjects: [Subject]
    @Relationship(inverse: \Title.picks) var titlePick: Title?
    @Relationship(deleteRule: .cascade, inverse: \Title.cards) var titles: [Title]
    @Attribute(.unique) var uuid: UUID

    init(
      colorOpacity: Double, uuid: UUID, authors: [Author] = [], collections: [Collection] = [], crops: [Crop] = [],
      dates: [Date] = [], subjects: [Subject] = [], titles: [Title] = []
    ) {
      self.authors = authors
      self.collections = collections
      self.colorOpacity = colorOpacity
      self.crops = crops
      self.dates = dates
      self.subjects = subjects
      self.titles = titles
      self.uuid = uuid
    }
  }

  @Model
  final class Subject {
    var cards: [StereoCard]
    var name: String

    init(name: String, cards: [StereoCard] = []) {
      self.cards = cards
      self.name = name
    }
  }

  @Model
  final class Title {
    var cards: [StereoCard]
    var picks: [StereoCard]
    var text: String

    init(text: String, cards: [StereoCard] = [], picks: [StereoCard] = []) {
      self.cards = cards
      self.picks = picks
      self.text = text
    }
  }
}
