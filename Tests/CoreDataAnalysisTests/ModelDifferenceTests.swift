// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Testing

@testable import CoreDataAnalysis

/// A model of one entity `Order` with a few properties, to be changed by a test.
func orderModel(_ edit: (inout EntityDocument) -> Void = { _ in }) -> ModelDocument {
  var order = EntityDocument(name: "Order", className: "Order")
  order.attributes = [
    AttributeDocument(name: "name", kind: .string), AttributeDocument(name: "total", kind: .integer32),
  ]
  order.relationships = [
    RelationshipDocument(name: "lines", destinationEntityName: "Line", inverseName: "order", isToMany: true)
  ]
  edit(&order)
  var line = EntityDocument(name: "Line")
  line.relationships = [RelationshipDocument(name: "order", destinationEntityName: "Order", inverseName: "lines")]
  return ModelDocument(entities: [order, line])
}

@Suite("Differences between versions of a model")
struct ModelDifferenceTests {
  private func changes(_ edit: (inout EntityDocument) -> Void) -> [ModelChange] {
    ModelDifference(from: orderModel(), to: orderModel(edit)).changes
  }

  @Test("Equal versions differ in nothing")
  func equal() {
    let difference = ModelDifference(from: orderModel(), to: orderModel())
    #expect(difference.isEmpty)
    #expect(difference.migration == .none)
    #expect(!difference.changesVersionHashes)
  }

  @Test("An added optional attribute can be inferred, a required one without default cannot")
  func addedAttribute() throws {
    let optional = changes { $0.attributes.append(AttributeDocument(name: "note", kind: .string)) }
    #expect(optional.map(\.sentence) == ["The attribute Order.note is new: String, optional."])
    #expect(optional.map(\.migration) == [.inferred])
    let required = changes { $0.attributes.append(AttributeDocument(name: "note", kind: .string, isOptional: false)) }
    #expect(required.map(\.migration) == [.inferred])
    let filled = changes {
      var attribute = AttributeDocument(name: "note", kind: .string, isOptional: false)
      attribute.defaultValue = .string("-")
      $0.attributes.append(attribute)
    }
    #expect(filled.map(\.migration) == [.inferred])
    #expect(filled.first?.newValue == "String, required, default \"-\"")
  }

  @Test("A renaming identifier makes one change of two")
  func renamed() {
    let found = changes {
      $0.attributes[0].name = "title"
      $0.attributes[0].renamingIdentifier = "name"
    }
    #expect(found.map(\.kind) == [.renamed(from: "name")])
    #expect(found.first?.sourceProperty == "name")
    let unnamed = changes { $0.attributes[0].name = "title" }
    #expect(unnamed.map(\.word) == ["removed", "added"])
  }

  @Test("Numbers convert into one another, other types do not")
  func types() {
    #expect(changes { $0.attributes[1].kind = .double }.map(\.migration) == [.inferred])
    #expect(changes { $0.attributes[1].kind = .string }.map(\.migration) == [.custom])
  }

  @Test("What is not stored asks for no migration")
  func unhashed() {
    let found = changes {
      $0.className = "Purchase"
      $0.attributes[0].defaultValue = .string("new")
      $0.attributes[1].validations = [
        ValidationDocument(
          predicate: .comparison(
            ComparisonSyntax(.evaluatedObject, .greaterThanOrEqualTo, .constant(.integer(1)))), warning: .integer(1620))
      ]
      $0.relationships[0].deleteRule = .cascade
      $0.indexes = [FetchIndexDocument(name: "byName", elements: [FetchIndexElementDocument(propertyName: "name")])]
    }
    #expect(found.map(\.word) == ["class", "added", "delete rule", "default", "minimum"])
    #expect(found.allSatisfy { !$0.changesVersionHash && $0.migration == .none })
  }

  @Test("To-many becomes to-one: nothing can be inferred; the other way it can")
  func counts() {
    #expect(changes { $0.relationships[0].maxCount = 1 }.map(\.migration) == [.custom])
    let back = ModelDifference(from: orderModel { $0.relationships[0].maxCount = 1 }, to: orderModel())
    #expect(back.changes.map(\.migration) == [.inferred])
    #expect(changes { $0.relationships[0].isOrdered = true }.map(\.word) == ["ordered"])
  }

  @Test("An attribute that moves to a new parent is moved, not lost")
  func moved() {
    var new = orderModel { order in
      order.parentName = "Document"
      order.attributes.removeFirst()
    }
    var document = EntityDocument(name: "Document", isAbstract: true)
    document.attributes = [AttributeDocument(name: "name", kind: .string)]
    new.entities.append(document)
    let difference = ModelDifference(from: orderModel(), to: new)
    #expect(
      difference.changes(of: "Order").map(\.sentence) == [
        "The entity Order: parent was none, is Document.", "The attribute Order.name has moved from Order to Document.",
      ])
    #expect(difference.migration == .inferred)
  }

  @Test("Two hierarchies that were separate cannot be merged")
  func merged() {
    var new = orderModel()
    new.entities[0].parentName = "Line"
    #expect(ModelDifference(from: orderModel(), to: new).migration == .custom)
  }

  @Test("Changes come sorted by entity and property, whatever the order of the documents")
  func order() {
    var new = orderModel { order in
      order.attributes.append(AttributeDocument(name: "a", kind: .date))
      order.attributes.append(AttributeDocument(name: "z", kind: .date))
    }
    new.entities.append(EntityDocument(name: "Address"))
    let forward = ModelDifference(from: orderModel(), to: new)
    new.entities.reverse()
    new.entities[2].attributes.reverse()
    #expect(ModelDifference(from: orderModel(), to: new) == forward)
    #expect(forward.changes.map { $0.property ?? $0.entity } == ["Address", "a", "z"])
  }
}
