// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the articles on models and on the places of stores, between `guide:` and `end`.

import CoreData
import Foundation
import SwiftData
import Testing

enum GuideShop {
  // guide: models-values
  struct Address: Codable, Equatable {
    var street: String
    var city: String
    var zip: String?
  }

  enum Status: String, Codable {
    case open, paid, sent
  }

  enum Payment: Codable, Equatable {
    case cash
    case card(last: Int)
  }

  @Model
  final class Order {
    #Unique<Order>([\.number])
    #Index<Order>([\.date], [\.status, \.date])

    var number: Int
    var date = Date()
    var status = Status.open
    var address: Address?
    var tags: [String] = []
    var amounts: [String: Double] = [:]
    @Attribute(.codable) var payment = Payment.cash
    @Attribute(.externalStorage) var invoice: Data?
    @Transient var isSelected = false
    @Relationship(deleteRule: .cascade, inverse: \Line.order) var lines: [Line] = []
    var customer: Customer?

    var total: Double { lines.reduce(0) { $0 + $1.price } }

    init(number: Int) {
      self.number = number
    }
  }

  @Model
  final class Line {
    var article: String
    var price: Double
    var order: Order?

    init(article: String, price: Double) {
      self.article = article
      self.price = price
    }
  }
  // end

  // guide: models-subclass
  @Model
  class Customer {
    var name: String

    init(name: String) {
      self.name = name
    }
  }

  @Model
  final class Company: Customer {
    var taxNumber: String

    init(name: String, taxNumber: String) {
      self.taxNumber = taxNumber
      super.init(name: name)
    }
  }
  // end
}

extension GuideShop {
  @Suite("The guide on models and the places of stores")
  struct ModelsTests {
    private let directory: GuideDirectory

    init() throws { directory = try GuideDirectory() }

    private func container() throws -> ModelContainer {
      // guide: models-container
      try ModelContainer(
        for: Order.self, Company.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      // end
    }

    @Test("Every kind of property keeps its value")
    func values() throws {
      let container = try container()
      let context = ModelContext(container)
      // guide: models-use
      let order = Order(number: 1)
      order.address = Address(street: "Main Street 1", city: "Oslo", zip: nil)
      order.status = .paid
      order.payment = .card(last: 4242)
      order.lines = [Line(article: "Tea", price: 4.5), Line(article: "Cup", price: 7)]
      order.customer = Company(name: "Shop & Co", taxNumber: "NO 1")
      context.insert(order)
      try context.save()
      // end
      let found = try #require(try ModelContext(container).fetch(FetchDescriptor<Order>()).first)
      #expect(found.address == Address(street: "Main Street 1", city: "Oslo", zip: nil))
      #expect(found.status == .paid && found.payment == .card(last: 4242) && found.total == 11.5)
      #expect((found.customer as? Company)?.taxNumber == "NO 1")
    }

    @Test("A schema prints its entities, with the inverses that were found")
    func schema() {
      // guide: models-schema
      let text = String(reflecting: Schema([Order.self, Company.self]))
      // end
      #expect(
        text == """
          Schema 1.0.0
          Company: Customer
            taxNumber
          Customer
            name
          Line
            article
            order? -> Order (inverse lines)
            price
          Order
            address?
            amounts
            customer? -> Customer (no inverse)
            date
            invoice?
            lines ->> Line (inverse order)
            number
            payment
            status
            tags
          """)
    }

    @Test("The Core Data model of the classes")
    func model() {
      // guide: models-managed
      let model = NSManagedObjectModel.makeManagedObjectModel(for: [Order.self, Company.self])
      let address = model?.entitiesByName["Order"]?.attributesByName["address"] as? NSCompositeAttributeDescription
      let elements = address?.elements.map(\.name) ?? []
      // end
      #expect(elements.sorted() == ["city", "street", "zip"])
    }

    @Test("The places of stores")
    func places() throws {
      let url = directory.file("Shop.store")
      // guide: places-configurations
      let memory = ModelConfiguration(isStoredInMemoryOnly: true)
      let byName = ModelConfiguration("Shop")
      let shared = ModelConfiguration("Shop", groupContainer: .identifier("group.shop"))
      let atURL = ModelConfiguration(url: url)
      let forReading = ModelConfiguration(url: url, allowsSave: false)
      // end
      #expect(memory.isStoredInMemoryOnly && !forReading.allowsSave && atURL.url == url)
      #expect(byName.url.lastPathComponent == "Shop.store")
      #expect(shared.url.path.hasSuffix("/group.shop/Shop.store"))
    }

    @Test("Two stores in one container")
    func stores() throws {
      let (ordersURL, tripsURL) = (directory.file("Lines.store"), directory.file("Trips.store"))
      // guide: places-two
      let lines = ModelConfiguration("lines", schema: Schema([Order.self, Line.self, Company.self]), url: ordersURL)
      let trips = ModelConfiguration("trips", schema: Schema([GuideTrips.Trip.self]), url: tripsURL)
      let container = try ModelContainer(
        for: Order.self, Company.self, GuideTrips.Trip.self, configurations: lines, trips)
      // end
      let context = ModelContext(container)
      context.insert(Order(number: 1))
      context.insert(GuideTrips.Trip(name: "Rome", start: .now))
      try context.save()
      let one = try ModelContainer(for: GuideTrips.Trip.self, configurations: ModelConfiguration(url: tripsURL))
      #expect(try ModelContext(one).fetchCount(FetchDescriptor<GuideTrips.Trip>()) == 1)
    }

    @Test("A store in a server is named by its URL")
    func server() throws {
      // guide: places-server
      guard let url = URL(string: "postgresql://app@db.example/shop?schema=app&sslmode=verify-full") else { return }
      let configuration = ModelConfiguration(url: url)
      // end
      #expect(configuration.url.scheme == "postgresql" && !configuration.isStoredInMemoryOnly)
    }

    @Test("Errors have a code, words, a place and a cause")
    func errors() throws {
      let url = directory.file("Damaged.store")
      try Data(repeating: 7, count: 4096).write(to: url)
      var lines: [String] = []
      // guide: errors-read
      do {
        _ = try ModelContainer(for: Order.self, Company.self, configurations: ModelConfiguration(url: url))
      } catch let error as SwiftDataError {
        let cause = error.underlyingError as NSError?
        lines = ["\(error)", "\(cause?.domain ?? "-") \(cause?.code ?? 0)", "\(error.entity ?? "no entity")"]
      }
      // end
      #expect(lines.dropFirst() == ["NSCocoaErrorDomain 259", "no entity"])
      #expect(lines.first?.hasPrefix("loadIssueModelContainer: ") == true)
    }

    @Test("A missing value is Core Data's error, and the changes stay unsaved")
    func validation() throws {
      let container = try ModelContainer(
        for: GuideItems.Owned.Item.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      let context = ModelContext(container)
      let item = GuideItems.Owned.Item(title: "Tea")
      context.insert(item)
      try context.save()
      context.delete(item.owner)
      var message = ""
      // guide: errors-save
      do {
        try context.save()
      } catch let error as NSError where error.domain == NSCocoaErrorDomain {
        message = "\(error.code): \(error.localizedFailureReason ?? "")"
        context.rollback()
      }
      // end
      #expect(message == "1570: 'owner' of 'Item' has no value, but is not optional.")
      #expect(!context.hasChanges)
    }
  }
}
