// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Swift key paths")
struct KeyPathTests {
  class Member: NSManagedObject {
    var name: String? {
      get { Self.nameProperty[self] }
      set { Self.nameProperty[self] = newValue }
    }
    var age: Int16 {
      get { Self.ageProperty[self] }
      set { Self.ageProperty[self] = newValue }
    }
    var isActive: Bool {
      get { Self.activeProperty[self] }
      set { Self.activeProperty[self] = newValue }
    }
    var team: Group? {
      get { Self.teamProperty[self] }
      set { Self.teamProperty[self] = newValue }
    }
    var requiredTeam: Group { Self.requiredProperty[self] }
    var since: Date? { Self.sinceProperty[self] }
    var tags: [String]? { Self.tagsProperty[self] }
    var labels: [String] { Self.labelsProperty[self] }
    var friends: [Member] { Self.friendsProperty[self] }
    var weights: [String: Int] { Self.weightsProperty[self] }
    var points: [Point] { Self.pointsProperty[self] }
    struct Point { var x = 0 }

    // What a program writes itself.
    var byHand: String { value(forKey: "name") as? String ?? "none" }
    var primitive: String? {
      willAccessValue(forKey: "name")
      defer { didAccessValue(forKey: "name") }
      return Self.primitiveProperty[self]
    }
    var shout: String? { name?.uppercased() }
    var both: String { (name ?? "") + "\(age)" }
    var isOld: Bool { age > 50 }
    var displayName: String { name ?? "?" }
    var nameOrDefault: String? { name ?? "?" }
    var nameIfAny: String? { name?.isEmpty == true ? nil : name }
    var lowercased: String? { name?.lowercased() }
    var trimmed: String? { name?.trimmingCharacters(in: .whitespaces) }
    var positive: Int16 { max(age, 0) }
    var bounded: Int16 { min(age, 100) }
    var firstTag: String? { tags?.first }
    var firstLabel: String? { labels.first }
    var sortedLabels: [String] { labels.sorted() }
    var reversedLabels: [String] { labels.sorted(by: >) }
    var someFriends: [Member] { Array(friends.prefix(1)) }
    var teamName: String { team?.title ?? "none" }
    var leader: Member? { team?.leader ?? self }
    var byHandIfAny: String? { value(forKey: "name") as? String }

    private static let nameProperty = ManagedProperty<String?>("name")
    private static let primitiveProperty = ManagedProperty<String?>("primitiveName")
    private static let ageProperty = ManagedProperty<Int16>("age")
    private static let activeProperty = ManagedProperty<Bool>("isActive")
    private static let teamProperty = ManagedProperty<Group?>("team")
    private static let requiredProperty = ManagedProperty<Group>("team")
    private static let sinceProperty = ManagedProperty<Date?>("since")
    private static let tagsProperty = ManagedProperty<[String]?>("tags")
    private static let labelsProperty = ManagedProperty<[String]>("labels")
    private static let friendsProperty = ManagedProperty<[Member]>("friends")
    private static let weightsProperty = ManagedProperty<[String: Int]>("weights")
    private static let pointsProperty = ManagedProperty<[Point]>("points")
  }
  final class Guest: Member {}
  final class Counted: Member {
    nonisolated(unsafe) static var alive = 0
    required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
      Self.alive += 1
      super.init(entity: entity, insertInto: context)
    }
    deinit { Self.alive -= 1 }
    var partner: Counted? { Self.partnerProperty[self] }
    private static let partnerProperty = ManagedProperty<Counted?>("partner")
  }
  final class Group: NSManagedObject {
    var title: String { Self.titleProperty[self] }
    var members: Set<Member> { Self.membersProperty[self] }
    var leader: Member? { Self.leaderProperty[self] }
    var activeMembers: Set<Member> { members.filter(\.isActive) }
    var noMembers: Set<Member> { members.subtracting(members) }
    private static let titleProperty = ManagedProperty<String>("title")
    private static let membersProperty = ManagedProperty<Set<Member>>("members")
    private static let leaderProperty = ManagedProperty<Member?>("leader")
  }

  @Test("A key path of properties has their names, through relationships, optional or not, and in subclasses")
  func names() throws {
    let expected: [(AnyKeyPath, String)] = [
      (\Member.name, "name"), (\Member.age, "age"), (\Member.isActive, "isActive"), (\Member.since, "since"),
      (\Member.tags, "tags"), (\Member.labels, "labels"), (\Member.friends, "friends"), (\Member.weights, "weights"),
      (\Member.requiredTeam.leader?.labels, "team.leader.labels"), (\Member.team, "team"),
      (\Member.team?.title, "team.title"),
      (\Member.requiredTeam.title, "team.title"),
      (\Member.requiredTeam.leader?.team?.members, "team.leader.team.members"),
      (\Guest.name, "name"), (\Guest.requiredTeam.leader?.age, "team.leader.age"), (\Group.members, "members"),
      (\Member.objectID, "objectID"), (\Member.self, "self"), (\Member.primitive, "name"),
    ]
    for (keyPath, key) in expected { #expect(try KeyPathRecorder.key(for: keyPath) == key) }
  }

  @Test("A key path through something computed, or of another class, has no name")
  func computed() {
    let others: [AnyKeyPath] = [
      \Member.shout, \Member.both, \Member.isOld, \Member.name?.count, \Group.members.count, \String.count,
      \Member.entity.name, \Member.hasChanges, \Member.byHand, \Member.displayName, \Member.nameOrDefault,
      \Member.nameIfAny, \Member.lowercased, \Member.trimmed, \Member.positive, \Member.bounded, \Member.firstTag,
      \Member.firstLabel, \Member.sortedLabels, \Member.reversedLabels, \Member.labels.count, \Member.someFriends,
      \Member.friends[0].name, \Member.points,
      \Member.teamName, \Member.leader, \Group.activeMembers, \Group.noMembers,
    ]
    for keyPath in others {
      #expect(throws: OpaqueCriterion.self) { try KeyPathRecorder.key(for: keyPath) }
    }
  }

  @Test("What a key path is evaluated for is released")
  func released() throws {
    #expect(try KeyPathRecorder.key(for: \Counted.partner?.partner) == "partner.partner")
    #expect(throws: OpaqueCriterion.self) { try KeyPathRecorder.key(for: \Counted.partner?.shout) }
    #expect(Counted.alive == 0)
  }

  @Test("Sort descriptors and expressions have the key; a descriptor without one sorts in memory")
  func descriptors() throws {
    #expect(NSSortDescriptor(keyPath: \Member.name, ascending: false).key == "name")
    #expect(NSSortDescriptor(keyPath: \Member.isActive, ascending: true).key == "isActive")
    #expect(NSSortDescriptor(keyPath: \Member.team?.title, ascending: true).key == "team.title")
    #expect(NSSortDescriptor(keyPath: \Member.shout, ascending: true).key == nil)
    let swift = NSSortDescriptor(SortDescriptor(\Member.name, order: .reverse))
    #expect(swift.key == "name" && !swift.ascending)
    #expect(NSExpression(forKeyPath: \Member.team?.title).keyPath == "team.title")
    #expect(NSSortDescriptor(keyPath: \String.count, ascending: true).key == nil)
  }

  /// A context with the members b, a and c, of the ages 2, 3 and 1.
  private func members(in store: TemporaryStore) throws -> NSManagedObjectContext {
    var builder = ModelBuilder()
    let name = NSAttributeDescription(), age = NSAttributeDescription()
    (name.name, name.attributeType) = ("name", .stringAttributeType)
    (age.name, age.attributeType) = ("age", .integer16AttributeType)
    builder.entity("Member", [name, age]).managedObjectClassName = "Member"
    let context = try store.context(builder.model())
    for (name, age) in [("b", 2), ("a", 3), ("c", 1)] {
      let member = Member(context: context)
      (member.name, member.age) = (name, Int16(age))
    }
    try context.save()
    return context
  }

  @Test("A store sorts by a Swift key path, and what the program computes is sorted in memory")
  func fetching() throws {
    let store = try TemporaryStore()
    let context = try members(in: store)
    func names(_ descriptor: NSSortDescriptor) throws -> [String?] {
      let request = NSFetchRequest<Member>(entityName: "Member")
      request.sortDescriptors = [descriptor]
      request.fetchLimit = 2
      return try context.fetch(request).map(\.name)
    }
    #expect(try names(NSSortDescriptor(keyPath: \Member.age, ascending: true)) == ["c", "b"])
    #expect(try names(NSSortDescriptor(SortDescriptor(\Member.name))) == ["a", "b"])
    #expect(try names(NSSortDescriptor(keyPath: \Member.byHand, ascending: false)) == ["c", "b"])
    #expect(try names(NSSortDescriptor(keyPath: \Member.both, ascending: false)) == ["c", "b"])
    #expect(try names(NSSortDescriptor(keyPath: \Member.isOld, ascending: false)).count == 2)
    #expect(try names(NSSortDescriptor(SortDescriptor(\Member.both, order: .reverse))) == ["c", "b"])
    #expect(NSSortDescriptor(keyPath: \Member.byHand, ascending: true).key == nil)
    #expect(NSSortDescriptor(keyPath: \Member.byHandIfAny, ascending: true).key == "name")
  }

  @Test("A request keeps its content when its result type is cast")
  func requestCasts() throws {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Member")
    let cast = request =>? NSFetchRequest<Member>.self
    let typed = try #require(cast)
    typed.fetchLimit = 3
    #expect(request.fetchLimit == 3 && typed.entityName == "Member")
    let same = typed =>! NSFetchRequest<Member>.self
    #expect(same === typed)
    let none = "a" =>? NSFetchRequest<Member>.self
    #expect(none == nil)
  }
}

extension KeyPathTests {
  @Test("A #Predicate means the same as a format, as text and in a store")
  func predicates() throws {
    let (least, names): (Int16, [String]) = (2, ["a", "b"])
    let pairs: [(NSPredicate?, String)] = [
      (NSPredicate(#Predicate<Member> { $0.age > least }), "age > 2"),
      (NSPredicate(#Predicate<Member> { $0.name == "a" || $0.age <= 1 }), "name == \"a\" OR age <= 1"),
      (NSPredicate(#Predicate<Member> { !($0.name == nil) }), "NOT name == nil"),
      (NSPredicate(#Predicate<Member> { $0.isActive && $0.age != 1 }), "isActive == 1 AND age != 1"),
      (NSPredicate(#Predicate<Member> { $0.team?.title == "x" }), "team.title == \"x\""),
      (NSPredicate(#Predicate<Member> { $0.age + 1 == 3 }), "age + 1 == 3"),
      (NSPredicate(#Predicate<Member> { $0.requiredTeam.title.starts(with: "y") }), "team.title BEGINSWITH \"y\""),
      (NSPredicate(#Predicate<Member> { (1...2).contains($0.age) }), "age BETWEEN {1, 2}"),
      (
        NSPredicate(#Predicate<Group> { $0.members.contains { $0.age == 2 } }),
        "SUBQUERY(members, $element1, $element1.age == 2).@count > 0"
      ),
      (
        NSPredicate(#Predicate<Group> { $0.members.allSatisfy { $0.isActive } }),
        "SUBQUERY(members, $element1, NOT $element1.isActive == 1).@count == 0"
      ),
    ]
    for (predicate, format) in pairs {
      let expected = NSPredicate(format: format)
      #expect(predicate.map { $0.format } == expected.format)
    }
    let among = try #require(NSPredicate(#Predicate<Member> { names.contains($0.name ?? "") }))
    #expect(among.format.contains("IN {\"a\", \"b\"}"))
    #expect(NSPredicate(#Predicate<Member> { $0.shout == "A" }) == nil)

    let store = try TemporaryStore()
    let context = try members(in: store)
    let request = NSFetchRequest<Member>(entityName: "Member")
    request.sortDescriptors = [NSSortDescriptor(keyPath: \Member.name, ascending: true)]
    request.predicate = NSPredicate(#Predicate<Member> { $0.age >= least })
    #expect(try context.fetch(request).map(\.name) == ["a", "b"])
    request.predicate = among
    #expect(try context.fetch(request).map(\.name) == ["a", "b"])
  }
}
