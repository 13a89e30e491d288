// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of atomicguy/Retroview in June 2024.
enum RetroviewJune {
  static let models: [any PersistentModel.Type] = [Author.self, Date.self, StereoCard.self, Subject.self, Title.self]

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
    var dates: [Date]
    @Attribute(.externalStorage) var imageBack: Data?
    var imageBackId: String?
    @Attribute(.externalStorage) var imageFront: Data?
    var imageFrontId: String?
    @Relationship(inverse: \Subject.cards) var subjects: [Subject]
    @Relationship(inverse: \Title.picks) var titlePick: Title?
    @Relationship(inverse: \Title.cards) var titles: [Title]
    @Attribute(.unique) var uuid: UUID

    init(uuid: UUID, authors: [Author] = [], dates: [Date] = [], subjects: [Subject] = [], titles: [Title] = []) {
      self.authors = authors
      self.dates = dates
      self.subjects = subjects
      self.titles = titles
      self.uuid = uuid
    }
  }

  @Model
  final class Subject {
    var cards: [StereoCard]?
    var name: String

    init(name: String, cards: [StereoCard]? = []) {
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
