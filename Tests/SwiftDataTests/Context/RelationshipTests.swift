// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Model
private final class Course {
  var title: String
  @Relationship(inverse: \Pupil.courses) var pupils: [Pupil] = []

  init(_ title: String) { self.title = title }
}

@Model
private final class Pupil {
  var name: String
  var courses: [Course] = []

  init(_ name: String) { self.name = name }
}

@Model
private final class Shelf {
  @Relationship(inverse: \Box.shelf) var boxes: [Box] = []

  init() {}
}

@Model
private class Box {
  var shelf: Shelf

  init(on shelf: Shelf) { self.shelf = shelf }
}

@Model
private final class LockedBox: Box {
  var neighbour: Shelf?

  init(on shelf: Shelf, nextTo neighbour: Shelf) {
    self.neighbour = neighbour
    super.init(on: shelf)
  }
}

@Suite("Relationships of models")
struct RelationshipTests {
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try ModelContainer(
      for: Trip.self, Folder.self, Course.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
  }

  /// Returns the processor time of a block on this thread, which others do not lengthen.
  private func time(_ block: () -> Void) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    block()
    return now() - start
  }

  enum Side: CaseIterable { case one, many }

  @Test("Adding members one by one takes linear time", arguments: Side.allCases)
  func growth(side: Side) {
    func add(_ trip: Trip, _ stop: Stop) {
      switch side {
      case .many: trip.stops.append(stop)
      case .one:
        stop.trip = trip
        _ = trip.stops.count
      }
    }
    func measure(_ count: Int) -> Double {
      let trip = Trip(name: UUID().uuidString)
      context.insert(trip)
      let time = time { for number in 0..<count { add(trip, Stop(title: "\(number)")) } }
      #expect(trip.stops.map(\.title) == (0..<count).map(String.init))
      return time
    }
    _ = measure(50)
    let few = measure(200)
    // Quadratic time would be 64 times as long.
    #expect(measure(1600) < 24 * few)
  }

  @Test("Setting either side inserts a model, and shows on the other side at once")
  func joining() throws {
    let trip = Trip(name: "Rome")
    let (first, second, third) = (Stop(title: "1"), Stop(title: "2"), Stop(title: "3"))
    first.trip = trip
    #expect(first.modelContext == nil && trip.modelContext == nil)
    context.insert(trip)
    first.trip = trip
    #expect(first.modelContext == context && trip.stops == [first])
    second.trip = trip
    #expect(second.modelContext == context && trip.stops == [first, second])
    trip.stops.append(third)
    #expect(third.modelContext == context && third.trip === trip)
    second.trip = nil
    #expect(Set(trip.stops) == [first, third])
    let other = Trip(name: "Oslo")
    other.stops = [third]
    #expect(other.modelContext == context && third.trip === other && trip.stops == [first])
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Stop>()) == 3)
  }

  @Test("A relationship that an initializer sets inserts the model if the other one is inserted")
  func initializers() throws {
    let container = try ModelContainer(
      for: Shelf.self, Box.self, LockedBox.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let shelf = Shelf()
    context.insert(shelf)
    let boxes = [Box(on: shelf), LockedBox(on: shelf, nextTo: shelf)]
    #expect(boxes.allSatisfy { $0.modelContext == context })
    #expect(Set(shelf.boxes) == Set(boxes))
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Box>()) == 2)
  }

  @Test("A model that leaves a new owner for an inserted one does not insert the former")
  func leaving() throws {
    let (old, new) = (Trip(name: "Oslo"), Trip(name: "Rome"))
    let stop = Stop(title: "1")
    stop.trip = old
    context.insert(new)
    stop.trip = new
    #expect(old.modelContext == nil && new.stops == [stop])
    let (folder, parent) = (Folder(name: "folder"), Folder(name: "parent"))
    folder.children = [Folder(name: "left")]
    let kept = Folder(name: "kept")
    context.insert(kept)
    context.insert(parent)
    folder.children = [kept]
    folder.parent = parent
    try context.save()
    let names = try ModelContext(container).fetch(FetchDescriptor<Folder>()).map(\.name)
    #expect(Set(names) == ["folder", "kept", "parent"])
    #expect(try ModelContext(container).fetch(FetchDescriptor<Trip>()).map(\.name) == ["Rome"])
  }

  @Test("Observers of one side of a relationship learn of changes of the other")
  func observation() {
    let (trip, other, stop) = (Trip(name: "Rome"), Trip(name: "Oslo"), Stop(title: "1"))
    context.insert(trip)
    context.insert(other)
    let (stops, others, parent) = (Changes(trip, \.stops), Changes(other, \.stops), Changes(stop, \.trip))
    stop.trip = trip
    #expect(stops.count == 1 && others.count == 0 && parent.count == 1)
    other.stops = [stop]
    #expect(stops.count == 2 && others.count == 1 && parent.count == 2)
    context.delete(stop)
    context.processPendingChanges()
    #expect(others.count == 2 && other.stops.isEmpty)
    other.days += 1
    #expect(others.count == 2 && stops.count == 2)
  }

  @Test("Observers learn that a rollback restores values")
  func rolledBack() throws {
    let trip = Trip(name: "Rome")
    context.insert(trip)
    try context.save()
    trip.days = 9
    let days = Changes(trip, \.days)
    context.rollback()
    #expect(days.count > 0 && trip.days == 3)
  }

  @Test("Both sides of many-to-many relationships agree")
  func manyToMany() throws {
    let courses = (0..<3).map { Course("\($0)") }
    let pupils = (0..<4).map { Pupil("\($0)") }
    courses[0].pupils = pupils
    context.insert(courses[0])
    for course in courses.dropFirst() { pupils[0].courses.append(course) }
    let late = Pupil("4")
    late.courses = [courses[1]]
    #expect(Set(courses[0].pupils) == Set(pupils) && courses[1].pupils.contains(late))
    context.delete(late)
    context.processPendingChanges()
    #expect(courses.allSatisfy { $0.modelContext == context && $0.pupils.contains(pupils[0]) })
    courses[1].pupils.append(contentsOf: [pupils[1], pupils[1], pupils[0]])
    #expect(Set(courses[1].pupils) == [pupils[0], pupils[1]] && courses[1].pupils.count == 2)
    pupils[1].courses.removeAll { $0 === courses[0] }
    #expect(Set(courses[0].pupils) == [pupils[0], pupils[2], pupils[3]])
    try context.save()
    let found = try ModelContext(container).fetch(FetchDescriptor<Course>(sortBy: [SortDescriptor(\.title)]))
    #expect(found.map { Set($0.pupils.map(\.name)) } == [["0", "2", "3"], ["0", "1"], ["0"]])
  }

  @Test("What both sides say before they are inserted is added up")
  func bothSides() {
    let course = Course("0")
    let (first, second) = (Pupil("1"), Pupil("2"))
    course.pupils = [first]
    second.courses = [course]
    context.insert(second)
    #expect(Set(course.pupils) == [first, second] && first.courses == [course])
  }

  @Test("Arrays show what the other sides say, whatever is changed", arguments: [1, 2, 3, 4] as [UInt64])
  func consistency(seed: UInt64) throws {
    var random = Numbers(state: seed)
    var trips = (0..<3).map { Trip(name: "\($0)") }
    var stops: [Stop] = []
    for trip in trips { context.insert(trip) }
    try context.save()
    for step in 0..<400 {
      guard let trip = trips.randomElement(using: &random) else { return }
      let stop = stops.randomElement(using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0...2:
        let new = Stop(title: "\(step)")
        stops.append(new)
        trip.stops.append(new)
      case 3:
        let new = Stop(title: "\(step)")
        stops.append(new)
        new.trip = trip
      case 4: if let stop { trip.stops.append(stop) }
      case 5: stop?.trip = trip
      case 6: stop?.trip = nil
      case 7: if !trip.stops.isEmpty { trip.stops.removeFirst() }
      case 8: trip.stops = Array(stops.shuffled(using: &random).prefix(3))
      case 9:
        if let stop {
          context.delete(stop)
          if Bool.random(using: &random) { context.processPendingChanges() }
          stops.removeAll { $0 === stop }
        }
      case 10: try context.save()
      default:
        context.rollback()
        trips = try context.fetch(FetchDescriptor<Trip>())
        stops = try context.fetch(FetchDescriptor<Stop>())
      }
      for trip in trips {
        let members = trip.stops.filter { !$0.isDeleted }
        #expect(Set(members.map(\.title)) == Set(stops.filter { $0.trip === trip }.map(\.title)), "step \(step)")
        #expect(members.count == Set(members).count)
      }
    }
    try context.save()
    let stored = try ModelContext(container).fetch(FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)]))
    let expected = trips.sorted { $0.name < $1.name }
    #expect(stored.map { Set($0.stops.map(\.title)) } == expected.map { Set($0.stops.map(\.title)) })
  }
}

/// Counts the changes of a property that its observers learn of: at most one between two readings of the number.
final class Changes: @unchecked Sendable {
  // The models of a test are used on one thread at a time.
  private var total = 0
  private var isObserving = false
  private let observe: (Changes) -> Void

  init<Model: PersistentModel, Value>(_ model: Model, _ keyPath: KeyPath<Model, Value>) {
    observe = { changes in
      withObservationTracking {
        _ = model[keyPath: keyPath]
      } onChange: {
        changes.total += 1
        changes.isObserving = false
      }
    }
    begin()
  }

  private func begin() {
    if isObserving { return }
    isObserving = true
    observe(self)
  }

  var count: Int {
    begin()
    return total
  }
}

/// A generator of reproducible numbers.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}
