// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import SwiftData

/// What a plan says about a stage that cannot do what it seems to.
@Suite("Advice about the stages of a plan")
struct StageAdviceTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Rides.store") }

  init() throws { directory = try TemporaryDirectory() }

  // MARK: A common superclass

  fileprivate enum Apart: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Car.self, Bike.self] }
    @Model final class Car {
      var name: String
      init(name: String) { self.name = name }
    }
    @Model final class Bike {
      var name: String
      init(name: String) { self.name = name }
    }
  }

  fileprivate enum Together: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Vehicle.self, Car.self, Bike.self] }
    @Model class Vehicle {
      var name: String
      init(name: String) { self.name = name }
    }
    @Model final class Car: Vehicle {
      var doors: Int = 4
      override init(name: String) { super.init(name: name) }
    }
    @Model final class Bike: Vehicle {
      var gears: Int = 8
      override init(name: String) { super.init(name: name) }
    }
  }

  fileprivate enum Merging: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Apart.self, Together.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Apart.self, toVersion: Together.self)] }
  }

  fileprivate enum MergingAndReading: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { Merging.schemas }
    static var stages: [MigrationStage] {
      [
        .custom(fromVersion: Apart.self, toVersion: Together.self, willMigrate: nil) { source, destination in
          for old in try source.fetch(FetchDescriptor<Apart.Car>()) {
            (destination.model(for: old.persistentModelID) as? Together.Car)?.name = "\(old.name)!"
          }
        }
      ]
    }
  }

  @Test("didMigrate cannot look up old rows by identifiers that the step changes")
  func merged() throws {
    do {
      let container = try ModelContainer(
        for: Schema(versionedSchema: Apart.self), configurations: ModelConfiguration(url: url))
      let context = ModelContext(container)
      for number in 0..<3 {
        context.insert(Apart.Car(name: "Car \(number)"))
        context.insert(Apart.Bike(name: "Bike \(number)"))
      }
      try context.save()
    }
    let errors = [
      #expect(throws: SwiftDataError.self) { try Library.container(MergingAndReading.self, at: url) },
      #expect(throws: SwiftDataError.self) { try MergingAndReading.validate() },
    ]
    for error in errors {
      let words = try #require(error).localizedDescription
      #expect(
        words.contains("gives Bike, Car the common superclass Vehicle, so that rows get other identifiers"), "\(words)")
      #expect(words.contains("one stage for the superclass, and one for the code."), "\(words)")
    }
    let context = ModelContext(try Library.container(Merging.self, at: url))
    let names = try context.fetch(FetchDescriptor<Together.Vehicle>()).map { "\(type(of: $0)) \($0.name)" }
    #expect(names.sorted() == (0..<3).map { "Bike Bike \($0)" } + (0..<3).map { "Car Car \($0)" })
  }

  // MARK: Relationships, parts and names

  fileprivate enum Many: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Trip.self, Stop.self] }
    struct Place: Codable { var name: String }
    @Model final class Trip {
      var place: Place
      @Relationship(inverse: \Stop.trips) var stops: [Stop] = []
      init(place: Place) { self.place = place }
    }
    @Model final class Stop {
      var title: String = ""
      var trips: [Trip] = []
      init() {}
    }
  }

  /// A trip has one stop.
  fileprivate enum One: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Trip.self, Stop.self] }
    @Model final class Trip {
      var place: Many.Place
      @Relationship(originalName: "stops", inverse: \Stop.trips) var stop: Stop?
      init(place: Many.Place) { self.place = place }
    }
    @Model final class Stop {
      var title: String = ""
      var trips: [Trip] = []
      init() {}
    }
  }

  /// A place has another part, and stops are called halts.
  fileprivate enum Parts: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Trip.self, Halt.self] }
    struct Place: Codable { var name: String, height: Int }
    @Model final class Trip {
      var place: Place
      init(place: Place) { self.place = place }
    }
    @Model final class Halt {
      var title: String = ""
      init() {}
    }
  }

  /// As `Parts`, with an initial value of the place.
  fileprivate enum Initial: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Trip.self, Halt.self] }
    @Model final class Trip {
      var place: Parts.Place = Parts.Place(name: "", height: 7)
      init() {}
    }
    @Model final class Halt {
      var title: String = ""
      init() {}
    }
  }

  fileprivate enum ToOne: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Many.self, One.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Many.self, toVersion: One.self)] }
  }

  fileprivate enum ToParts: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Many.self, Parts.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Many.self, toVersion: Parts.self)] }
  }

  fileprivate enum ToInitial: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Many.self, Initial.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Many.self, toVersion: Initial.self)] }
  }

  @Test("A relationship that becomes to-one, and a part that is added, are refused with what to do")
  func advice() throws {
    let toOne = try #require(throws: SwiftDataError.self) { try ToOne.validate() }.localizedDescription
    #expect(
      toOne.contains("keep the name with an originalName that Many does not have, and set it to the model to keep"))
    #expect(!toOne.contains("optional"), "\(toOne)")
    let parts = try #require(throws: SwiftDataError.self) { try ToParts.validate() }.localizedDescription
    #expect(
      parts.contains("Make the part 'height' of 'Trip.place' optional, or give 'Trip.place' an initial value"),
      "\(parts)")
  }

  @Test("A class that seems to be renamed is reported, and a part that old values get is not")
  func warnings() throws {
    let warnings = try ToInitial.validate()
    #expect(warnings.contains { $0.contains("drops the models of 'Stop' and adds 'Halt', with the same properties") })
    #expect(!warnings.contains { $0.contains("'height'") }, "\(warnings)")
    do {
      let container = try ModelContainer(
        for: Schema(versionedSchema: Many.self), configurations: ModelConfiguration(url: url))
      let context = ModelContext(container)
      context.insert(Many.Trip(place: Many.Place(name: "Rome")))
      try context.save()
    }
    let context = ModelContext(try Library.container(ToInitial.self, at: url))
    let places = try context.fetch(FetchDescriptor<Initial.Trip>()).map(\.place)
    #expect(places.map { "\($0.name) \($0.height)" } == ["Rome 7"])
  }
}
