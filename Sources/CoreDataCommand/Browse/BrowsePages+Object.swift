// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The page of an object.
extension BrowsePages {
  /// The number of members that the page of an object shows.
  private static let shownMembers = 20

  /// Returns the page of an object: all its values, and links to the objects that it leads to.
  ///
  /// - Parameter did: what a form has done.
  func object(_ object: NSManagedObject, did: String? = nil) throws -> String {
    let (id, entity) = (object.objectID, object.entity)
    let name = entity.name ?? ""
    var page = page(Self.name(of: id), [.link(name, address: address("list", name))])
    let title = title(of: object)
    page.heading(1, title ?? Self.name(of: id))
    page.line([.dim("\(Self.name(of: id)), \(id.uriRepresentation().absoluteString)")])
    if editing != nil {
      if let text = done(did) { page.paragraph(text, style: "good") }
      page.line(editLinks(object))
    }
    page.table(
      ["Attribute", "Type", "Value"],
      entity.storedAttributes.map { attribute in
        [
          .init(attribute.name), .init(Self.typeName(of: attribute), style: "dim"),
          cell(of: attribute, object, limit: Self.longText),
        ]
      }, style: "large")
    let relationships = entity.sortedRelationships
    guard !relationships.isEmpty else { return page.html }
    page.heading(2, "Relationships")
    page.table(
      ["Relationship", "Leads to", "Objects"],
      try relationships.map { relationship in
        let kind = relationship.isToMany ? (relationship.isOrdered ? "ordered" : "to many") : "to one"
        return [
          .init(relationship.name),
          .init("\(relationship.destinationEntity?.name ?? "") (\(kind))", style: "dim"),
          .init(try parts(of: relationship, object)),
        ]
      })
    return page.html
  }

  private static func typeName(of attribute: NSAttributeDescription) -> String {
    let isOptional = attribute.isOptional ? ", optional" : ""
    let name = AttributeKind(rawValue: UInt32(attribute.attributeType.rawValue)).map { "\($0)" } ?? "undefined"
    return name + isOptional
  }

  /// Returns the text that names an object; nil if it has none.
  func title(of object: NSManagedObject) -> String? {
    guard let attribute = object.entity.titleAttribute, let text = object.value(forKey: attribute.name) as? String,
      !text.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
    else { return nil }
    return ShownValue.line(text)
  }

  /// Returns a link to an object with its title, and forgets the object's values.
  func link(to id: NSManagedObjectID) throws -> HTMLPage.Part {
    guard let object = try store.object(id) else { return .dim("\(Self.name(of: id)), which is missing") }
    defer { store.context.refresh(object, mergeChanges: false) }
    return .link(title(of: object) ?? Self.name(of: id), address: address(of: id))
  }

  /// Returns what a table shows of a relationship: the object, or the number of objects.
  func shortParts(of relationship: NSRelationshipDescription, _ object: NSManagedObject) throws -> [HTMLPage.Part] {
    guard relationship.isToMany else { return try parts(of: relationship, object) }
    guard let selection = selection(of: relationship, object) else { return [.dim("none")] }
    let count = try store.count(selection)
    return count == 0 ? [.dim("none")] : [.link(NumberText.grouped(count), address: list(of: relationship, object))]
  }

  private func parts(of relationship: NSRelationshipDescription, _ object: NSManagedObject) throws -> [HTMLPage.Part] {
    guard relationship.isToMany else {
      guard let id = object.objectIDs(forRelationshipNamed: relationship.name).first else { return [.dim("none")] }
      return [try link(to: id)]
    }
    guard let selection = selection(of: relationship, object) else { return [.dim("none")] }
    let count = try store.count(selection)
    guard count > 0 else { return [.dim("none")] }
    var parts: [HTMLPage.Part] = []
    for id in try store.ids(selection, page: 1, size: Self.shownMembers) {
      if !parts.isEmpty { parts.append(.text(", ")) }
      parts.append(try link(to: id))
    }
    let address = list(of: relationship, object)
    return parts + [
      .text(count > Self.shownMembers ? ", … " : " "), .link("list of \(NumberText.grouped(count))", address: address),
    ]
  }

  private func selection(of relationship: NSRelationshipDescription, _ object: NSManagedObject) -> ObjectSelection? {
    guard let destination = relationship.destinationEntity else { return nil }
    var selection = ObjectSelection(destination)
    selection.members = (object, relationship)
    return selection
  }

  private func list(of relationship: NSRelationshipDescription, _ object: NSManagedObject) -> String {
    let place = BrowsedStore.place(of: object.objectID)
    var fields = FormFields()
    (fields["of"], fields["rel"]) = ("\(place.entity)/\(place.reference)", relationship.name)
    return address("list", relationship.destinationEntity?.name ?? "", query: fields)
  }

  /// Returns the whole value of an attribute, or of an element of a composite attribute.
  ///
  /// - Throws: `BrowseProblem` if there is no such attribute, or if it has no value that can be loaded.
  func data(_ path: String, of object: NSManagedObject) throws -> HTTPResponse {
    let keys = path.split(separator: ".").map(String.init)
    guard let first = keys.first, object.entity.attributesByName[first]?.isTransient == false else {
      throw BrowseProblem.noPage
    }
    var value = object.value(forKey: first)
    for key in keys.dropFirst() { value = (value as? NSDictionary)?[key] }
    let name = "\(Self.name(of: object.objectID)) \(path)"
    switch value {
    case let data as Data:
      if let type = PictureType(of: data) { return HTTPResponse(value: data, type: type.mediaType, fileName: nil) }
      return HTTPResponse(value: data, type: "application/octet-stream", fileName: name)
    case let text as String:
      return HTTPResponse(value: Data(text.utf8), type: "text/plain; charset=utf-8", fileName: name + ".txt")
    default: throw BrowseProblem.noPage
    }
  }
}

/// The pages of persistent history.
extension BrowsePages {
  private static let transactionsOnPage = 25
  private static let changesInList = 10
  private static let changesOnPage = 500

  /// Returns a page of the store's transactions, the latest first.
  func history(before number: Int64?) throws -> String {
    var page = page("History", [.text("History")])
    page.heading(1, "History")
    let limit = Self.transactionsOnPage
    guard
      let transactions = try store.history(before: number, limit: limit, changeLimit: Self.changesInList)
    else {
      page.paragraph(
        "\(store.name) has no persistent history. An app records it with the option NSPersistentHistoryTrackingKey.")
      return page.html
    }
    guard !transactions.isEmpty else {
      page.paragraph(number == nil ? "The history is empty." : "There are no earlier transactions.")
      return page.html
    }
    page.table(
      [.init("Number", isNumber: true), "Time", "Author", "Context", "Process", "Changes"],
      transactions.map { transaction in
        let (origin, rest) = (transaction.origin, transaction.changeCount - transaction.changes.count)
        var parts = changes(transaction.changes)
        let address = address("history", String(transaction.number))
        if rest > 0 { parts += [.text(", "), .link("\(NumberText.grouped(rest)) more", address: address)] }
        return [
          .init([.link(String(transaction.number), address: address)], isNumber: true),
          .init(DateText.text(transaction.time)), text(origin.author), text(origin.contextName), text(origin.process),
          .init(parts),
        ]
      })
    if let last = transactions.last, transactions.count == limit {
      var fields = FormFields()
      fields["before"] = String(last.number)
      page.line([.link("Earlier", address: address("history", query: fields))])
    }
    return page.html
  }

  /// Returns the page of a transaction.
  ///
  /// - Throws: `BrowseProblem` if the history has no such transaction.
  func transaction(_ number: Int64) throws -> String {
    guard number < .max,
      let found = try store.history(before: number + 1, limit: 1, changeLimit: Self.changesOnPage)?.first,
      found.number == number
    else { throw BrowseProblem.noPage }
    var page = page("Transaction \(number)", [.link("History", address: address("history"))])
    page.heading(1, "Transaction \(number)")
    let facts = [
      ("Time", DateText.text(found.time)), ("Author", found.origin.author), ("Context", found.origin.contextName),
      ("Process", found.origin.process), ("Bundle", found.origin.bundle),
      ("Changes", NumberText.grouped(found.changeCount)),
    ]
    page.table(["Fact", "Value"], facts.map { [.init($0.0, style: "dim"), text($0.1)] })
    page.table(
      ["Change", "Object", "Properties"],
      found.changes.map { change in
        let names = (change.properties ?? []).map(\.name).sorted().joined(separator: ", ")
        let kept = (change.tombstone ?? [:]).map { "\($0.key): \(ShownValue.line(String(describing: $0.value)))" }
        return [
          .init(Self.word(change.stored.kind)), .init([object(change)]),
          .init(change.tombstone == nil ? names : "kept \(kept.sorted().joined(separator: ", "))"),
        ]
      })
    if found.changes.count < found.changeCount {
      page.paragraph("Only the first \(NumberText.grouped(found.changes.count)) changes are shown.", style: "dim")
    }
    return page.html
  }

  private func changes(_ changes: [ObjectHistoryChange]) -> [HTMLPage.Part] {
    changes.enumerated().flatMap { position, change in
      [.text("\(position == 0 ? "" : ", ")\(Self.word(change.stored.kind)) "), object(change)]
    }
  }

  private func object(_ change: ObjectHistoryChange) -> HTMLPage.Part {
    let name = Self.name(of: change.id)
    return change.stored.kind == .delete ? .text(name) : .link(name, address: address(of: change.id))
  }

  private static func word(_ kind: HistoryChangeKind) -> String {
    switch kind {
    case .insert: "inserted"
    case .update: "updated"
    case .delete: "deleted"
    }
  }

  private func text(_ text: String?) -> HTMLPage.Cell {
    text.map { .init(ShownValue.line($0)) } ?? .init("none", style: "dim")
  }
}
