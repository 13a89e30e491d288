// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftData
import Testing

private protocol Named {
  var name: String { get }
}

@Model private class Vehicle: Named {
  var name: String
  var wheels = 4

  init(name: String) { self.name = name }
}

@Model private class Truck: Vehicle {
  var load: Int
  var tags: [String] = ["a"]
  var trailer: Vehicle?

  init(load: Int, name: String) {
    self.load = load
    super.init(name: name)
  }
}

@Model private final class Tanker: Truck {
  var liquid = "oil"

  init() { super.init(load: 7, name: "tanker") }
}

@Suite("Subclasses of models")
struct InheritanceTests {
  @Test("Properties of each class of a hierarchy keep what initializers set")
  func values() {
    let tanker = Tanker()
    #expect(tanker.liquid == "oil")
    #expect(tanker.load == 7)
    #expect(tanker.tags == ["a"])
    #expect(tanker.name == "tanker")
    #expect(tanker.wheels == 4)
    let truck = Truck(load: 3, name: "truck")
    truck.trailer = tanker
    #expect(truck.trailer === tanker)
    truck.load = 4
    #expect(truck.load == 4)
  }

  @Test("The value that is set first is not overwritten by the one of the declaration")
  func order() {
    let tanker = Tanker()
    tanker.liquid = "milk"
    tanker.tags = []
    #expect(tanker.liquid == "milk")
    #expect(tanker.tags.isEmpty)
  }

  @Test("The metadata of a class has its own properties")
  func metadata() {
    #expect(Vehicle.schemaMetadata.map(\.name) == ["name", "wheels"])
    #expect(Truck.schemaMetadata.map(\.name) == ["load", "tags", "trailer"])
    #expect(Tanker.schemaMetadata.map(\.name) == ["liquid"])
    let type: any PersistentModel.Type = Tanker.self
    #expect(type.schemaMetadata.count == 1)
  }

  @Test("An object of a subclass can be made from backing data")
  func backingData() {
    func make<Model: PersistentModel>(_ type: Model.Type, _ data: any BackingData<Model>) -> Model {
      Model(backingData: data)
    }
    let truck = make(Truck.self, Truck.createBackingData())
    truck.load = 2
    truck.name = "b"
    #expect(truck.load == 2)
    #expect(truck.name == "b")
  }

  @Test("Properties of each class are observed")
  func observation() {
    let tanker = Tanker()
    nonisolated(unsafe) var changes = 0
    for read in [{ _ = tanker.liquid }, { _ = tanker.load }, { _ = tanker.name }] {
      withObservationTracking(read) { changes += 1 }
    }
    tanker.liquid = "water"
    tanker.load = 1
    tanker.name = "c"
    #expect(changes == 3)
  }
}
