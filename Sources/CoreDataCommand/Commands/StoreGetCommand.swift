// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// `coredata store get`
enum StoreGetCommand: Command {
  static let specification = CommandSpecification(
    ["store", "get"], summary: "Show one object with all its values and relationships.",
    discussion:
      "ID is an entity and a number, such as Note/p3, as store query shows it, or a whole URI. JSON is one object, as a line of "
      + "store export, with the members of to-many relationships.\n\nThe store is opened read-only. Neither the store nor any "
      + "file beside it is changed.",
    positionals: [.anyStore, PositionalSpecification("ID", .one, .none, summary: "The object, such as Note/p3.")],
    options: [OpenedObjects.model, .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try OpenedObjects.with(invocation) { objects in
      let object = try objects.object(invocation.arguments.argument("ID"))
      let values = try values(of: object, invocation)
      if invocation.options.format == .json {
        try invocation.write([
          "entity": .string(object.entity.name ?? ""),
          "id": .string(object.objectID.uriRepresentation().absoluteString),
          "values": .object(values.map { .init($0.name, $0.value.json) }),
        ])
      } else {
        try invocation.write(report(object, values, invocation))
      }
    }
    return .done
  }

  private static func values(
    of object: NSManagedObject, _ invocation: CommandInvocation
  ) throws -> [(name: String, value: QueryValue)] {
    let entity = object.entity
    let attributes = entity.attributesByName.values.filter { !$0.isTransient }.map(\.name)
    let relationships = entity.relationshipsByName.values.filter { !$0.isTransient }.map(\.name)
    let remark = StoreQueryCommand.remark(invocation)
    return try (attributes.sorted() + relationships.sorted()).map { name in
      let column = try QueryColumn(name, of: entity)
      do {
        return (name, try column.value(of: object))
      } catch {
        remark(object.objectID, name, error)
        return (name, .null)
      }
    }
  }

  private static func report(
    _ object: NSManagedObject, _ values: [(name: String, value: QueryValue)], _ invocation: CommandInvocation
  ) -> TextReport {
    var report = invocation.report()
    var table = TextTable([.init(), .init()])
    for (name, value) in values {
      let text: String
      switch value {
      case .null: text = "none"
      case .plain(.string("")): text = "\"\""
      case .list(let members): text = members.isEmpty ? "none" : "\(members.count): \(value.text(isExact: false))"
      default: text = value.text(isExact: false)
      }
      table.add([name, text])
    }
    report.section(OpenedObjects.short(object.objectID)) { report in
      report.line(object.objectID.uriRepresentation().absoluteString)
      report.table(table)
    }
    return report
  }
}
