// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The formatter must not change the layouts that are tested here.
// swift-format-ignore-file

import Foundation
import SwiftData
import Testing

private struct Money: Codable, Equatable { var amount = 0.0 }
private enum Kind: String, Codable { case a, b }
@propertyWrapper private struct Wrap<T> {
  var wrappedValue: T
  init(wrappedValue: T) { self.wrappedValue = wrappedValue }
}

/// What people write in models; the compiler has to take the expansion of all of it.
private enum Schemas {
  @Model final class Trip { // comment with { brace
    #Unique<Trip>([\.name], [\.start, \.end])
    #Index<Trip>([\.name], [\.start])
    #Index<Trip>(.binary([\.name]), .rtree([\.start, \.end]))
    /// Doc with `code {`
    @Attribute(.unique, originalName: "title") var name: String = "a { \("x" + "}") b" // trailing {
    var start = Date()
    @Attribute
    var end: Date /* } */ = Date.now; var after: Int = 1
    @Attribute(.externalStorage)
    @available(macOS 14, *)
    private(set) var data: Data?
    fileprivate var secret: [String: [Int]] = [:]
    private var hidden: Int = -5
    @Attribute(.transformable(by: "NSSecureUnarchiveFromData")) var color: NSString? = nil
    @Relationship(deleteRule: .cascade, inverse: \Stop.trip) var stops: [Stop]? = []
    @Relationship var guests: [Stop] = []
    var money: Money = Money(amount: 3)
    var kind: Kind = .a
    var kinds: [Kind] = [.a,
      .b, // comment
    ]
    var raw = #"raw " \( { "# + "x"
    var multi: String = """
      a { "b" \(1 + 2)
      } c
      """
    var `default`: Int = 0
    var größe: Double = 0
    var closure: Int = { 1 + 2 }()
    var trailing = [1, 2, 3].map { $0 * 2 }
    var big: UInt64 = 18_446_744_073_709_551_615
    var chained: [Int] = [3, 1]
      .sorted()
      .map { $0 + 1 }
    var ternary: Int = true
      ? 1
      : 2
    var iuo: String!
    var dict: Dictionary<String, Array<Int>> = ["a": [1]]
    var opt: Optional<Int> = .none
    var tuple: Int { 5 }
    var computed: Int {
      get { after } set { after = newValue }
    }
    weak var w: Stop?
    static let shared = "x"
    nonisolated(unsafe) static var count: Int = 0
    class Inner { var x = 1; init() {} }
    enum Mode: Int, Codable { case one = 1, two }
    var mode: Mode = Mode.one
    typealias ID2 = Int
    @Transient var temp = 3
    @Transient var action: () async throws -> Void = {}
    @Transient lazy var expensive: Int = 3
    @Transient @Wrap var wrapped = 5
    @Transient @Wrap var wrapped2: Int = 5
    @SwiftData.Attribute(.unique) var qualified: String = ""
    @SwiftData.Transient var notPersisted = 1
    #if os(Linux)
    var linux: Int = 1
    #elseif DEBUG
    var debug: Int = 1
    #else
    var other: Int = 2
    #endif
    #if os(Linux) // c
    func f() -> Int { 1 }
    #endif
    var ifExpression: Int = if true { 1 } else { 2 }
    subscript(i: Int) -> Int { i }
    func function<T>(_ x: T) -> some Equatable where T: Equatable { x }
    init(name: String) { self.name = name }
    convenience init() { self.init(name: "c") }
    deinit {}
    @discardableResult class func make() -> Int { 1 }
    var newValue: Int = 1
    var initialValue: Int = 1
    var key: Int = 2
    var tags: Set<String> = ["a"]
    var url: URL? = URL(string: "https://a.b/{c}")
    var regex: String = "a".replacing(#/a{1}/#, with: "b")
    var semi = 1; var colon = 2
  }
}
extension Schemas {
  @Model final class Stop {
    var trip: Trip?
    var n: Int = 1
    init() {}
  }
}

@Suite("Constructs in models")
struct ConstructsTests {
  @Test("Every construct keeps the value that it declares")
  func values() {
    let trip = Schemas.Trip(name: "q")
    #expect(trip.name == "q")
    #expect(trip.kind == .a)
    #expect(trip.kinds == [.a, .b])
    #expect(trip.multi == "a { \"b\" 3\n} c")
    #expect(trip.raw == "raw \" \\( { x")
    #expect(trip.closure == 3)
    #expect(trip.trailing == [2, 4, 6])
    #expect(trip.chained == [2, 4])
    #expect(trip.ternary == 1)
    #expect(trip.default == 0)
    #expect(trip.größe == 0)
    #expect(trip.big == .max)
    #expect(trip.mode == .one)
    #expect(trip.money == Money(amount: 3))
    #expect(trip.ifExpression == 1)
    #expect(trip.regex == "b")
    #expect(trip.data == nil && trip.color == nil && trip.iuo == nil && trip.opt == nil && trip.w == nil)
    #if os(Linux)
    #expect(trip.linux == 1)
    #endif
  }

  @Test("Every construct can be set")
  func setting() {
    let trip = Schemas.Trip()
    trip.name = "b"
    trip.money.amount = 4
    trip.kinds.append(.a)
    trip.default = 5
    trip.newValue += 1
    trip.initialValue += 2
    trip.key += 3
    trip.computed = 9
    #expect(trip.name == "b")
    #expect(trip.money.amount == 4)
    #expect(trip.kinds == [.a, .b, .a])
    let numbers = [trip.default, trip.newValue, trip.initialValue, trip.key, trip.after]
    #expect(numbers == ([5, 2, 3, 5, 9] as [Int]))
    let stop = Schemas.Stop()
    stop.trip = trip
    #expect(stop.trip === trip)
    #expect(trip != Schemas.Trip())
  }

  @Test("The metadata has a row for each persisted property and constraint")
  func metadata() {
    let names = Schemas.Trip.schemaMetadata.map(\.name)
    #expect(
      names.prefix(8) == ["#Unique", "#Index", "#Index", "name", "start", "end", "after", "data"])
    #expect(Set(names).isDisjoint(with: ["temp", "action", "expensive", "wrapped", "tuple", "computed", "shared"]))
    #expect(Set(["default", "größe", "qualified", "w", "semi", "colon", "hidden"]).isSubset(of: names))
  }

  @Test("Reading and writing a property is observed")
  func observation() {
    let trip = Schemas.Trip()
    nonisolated(unsafe) var changes = 0
    withObservationTracking { _ = trip.name } onChange: { changes += 1 }
    trip.kind = .b
    #expect(changes == 0)
    trip.name = "c"
    #expect(changes == 1)
  }
}
