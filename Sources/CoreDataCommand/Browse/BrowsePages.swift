// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// The pages of `store browse`, which are made anew for each request.
struct BrowsePages {
  let store: BrowsedStore
  /// The path before all addresses, `/TOKEN`.
  let base: String
  /// What changes the store; nil if it is only read.
  let editing: BrowseEditing?

  /// The maximum length of a text in a table, and on the page of an object.
  static let shortText = 200
  static let longText = 2_000

  // MARK: Addresses

  func address(_ parts: String..., query: FormFields = FormFields()) -> String {
    let path = base + "/" + parts.map(URLText.encoded).joined(separator: "/")
    return query.encoded.isEmpty ? path : "\(path)?\(query.encoded)"
  }

  func address(of id: NSManagedObjectID) -> String {
    let place = BrowsedStore.place(of: id)
    return address("object", place.entity, place.reference)
  }

  func address(ofValue path: String, of id: NSManagedObjectID) -> String {
    let place = BrowsedStore.place(of: id)
    return address("data", place.entity, place.reference, path)
  }

  /// Returns an object's name, such as `Note p12`.
  static func name(of id: NSManagedObjectID) -> String {
    let place = BrowsedStore.place(of: id)
    return "\(place.entity) \(place.reference)"
  }

  /// Returns a page with links to those above it.
  func page(_ title: String, _ links: [HTMLPage.Part] = []) -> HTMLPage {
    var page = HTMLPage(title: "\(title) - \(store.name)", isServed: true)
    page.navigation([.link(store.name, address: base + "/")] + links)
    return page
  }

  /// Returns a sentence about what a form has done; nil for any other word.
  func done(_ word: String?) -> String? {
    let backup = editing?.backup.map { " The backup made before the first change is \($0.path)." } ?? ""
    return switch word {
    case "saved": "Saved.\(backup)"
    case "deleted": "Deleted.\(backup)"
    case "nothing": "The object has these values already. Nothing was changed."
    default: nil
    }
  }

  // MARK: Entities

  /// Returns the first page: the entities with the numbers of their objects.
  func overview() throws -> String {
    var page = HTMLPage(title: store.name, isServed: true)
    page.heading(1, store.name)
    page.line([.dim("\(store.store.type), \(store.location). \(editing == nil ? "Read only" : "Changes are saved").")])
    page.line([.link("History", address: address("history"))])
    page.heading(2, "Entities")
    page.table(
      ["Entity", .init("Objects", isNumber: true), "Attributes", "Relationships"],
      try store.entities.map { entity in
        let name = entity.name ?? ""
        let count = try store.count(ObjectSelection(entity))
        let parent = entity.superentity?.name.map { [HTMLPage.Part.dim(" is a \($0)")] } ?? []
        return [
          .init([.link(name, address: address("list", name))] + parent),
          .init(NumberText.grouped(count), isNumber: true),
          .init(entity.storedAttributes.map(\.name).joined(separator: ", "), style: "dim"),
          .init(entity.sortedRelationships.map(\.name).joined(separator: ", "), style: "dim"),
        ]
      })
    if store.entities.contains(where: { !$0.subentities.isEmpty }) {
      page.paragraph("The objects of an entity include those of its subentities.", style: "dim")
    }
    return page.html
  }

  // MARK: Objects of an entity

  /// Returns a page of an entity's objects.
  ///
  /// - Parameter fields: `q` is a text to find, `p` a predicate, `sort` an attribute, `desc` the direction, `page` the
  ///   number of the page, and `of` and `rel` name the object whose members are listed.
  func list(_ entity: NSEntityDescription, _ fields: FormFields) throws -> (html: String, isGood: Bool) {
    var fields = fields
    // Links do not repeat what a form has done.
    let did = fields["did"]
    fields["did"] = nil
    let name = entity.name ?? ""
    var page = page(name)
    var selection = ObjectSelection(entity)
    if let owner = fields["of"], let relationship = fields["rel"] {
      guard let members = try members(owner, relationship, entity) else { throw BrowseProblem.noObject(owner) }
      selection.members = members
    }
    page.heading(1, name)
    if let members = selection.members {
      page.line([
        .text("\(members.relationship.name) of "),
        .link(Self.name(of: members.owner.objectID), address: address(of: members.owner.objectID)),
      ])
    }
    if editing != nil {
      if let text = done(did) { page.paragraph(text, style: "good") }
      if !entity.isAbstract { page.line([.link("New \(name)", address: address("new", name))]) }
    }
    page.form(to: address("list", name), searchFields(entity, fields), button: "Search", style: "bar")
    if let key = fields["sort"], let attribute = entity.attributesByName[key], attribute.isSortable {
      (selection.sortKey, selection.isDescending) = (key, fields["desc"] == "1")
    }
    let number = max(1, min(fields["page"].flatMap { Int($0) } ?? 1, 1 << 40))
    do {
      selection.predicate = try predicate(entity, fields)
      let ids = try store.ids(selection, page: number)
      // Counting what a search finds reads all rows once more.
      let count = number == 1 && ids.count < BrowsedStore.pageSize ? ids.count : try store.count(selection)
      let isFiltered = selection.predicate != nil
      page.line([.dim(NumberText.counted(count, "object") + (isFiltered ? " found in all rows" : ""))])
      if !ids.isEmpty {
        try writeTable(entity, ids: ids, selection, fields, to: &page)
      } else if count > 0 {
        page.paragraph("No objects on this page.")
      }
      writePager(entity, number, count, fields, to: &page)
      return (page.html, true)
    } catch  where fields["p"] != nil && (error is CommandFailure || (error as NSError).domain == NSCocoaErrorDomain) {
      // The page keeps what was typed, so that it can be corrected.
      page.paragraph(CommandFailure(error).message, style: "bad")
      return (page.html, false)
    }
  }

  private func searchFields(_ entity: NSEntityDescription, _ fields: FormFields) -> [HTMLPage.Field] {
    let kept = ["sort", "desc", "of", "rel"].compactMap { name in
      fields[name].map { HTMLPage.Field(name, value: $0, kind: .hidden) }
    }
    return kept + [
      .init(
        "q", label: "Find in all rows", value: fields["q"] ?? "", kind: .search,
        note: "In all texts, or equal to a number, a UUID or a key such as p12"),
      .init("p", label: "Predicate", value: fields["p"] ?? "", note: "Such as \(PropertyNames.example(of: entity))"),
    ]
  }

  private func predicate(_ entity: NSEntityDescription, _ fields: FormFields) throws -> NSPredicate? {
    var parts: [NSPredicate] = []
    if let text = fields["q"]?.trimmingCharacters(in: .whitespacesAndNewlines), !text.isEmpty {
      parts.append(
        try ObjectSelection.search(text, in: entity) { store.id(entity: entity.name ?? "", reference: $0) })
    }
    if let format = fields["p"]?.trimmingCharacters(in: .whitespacesAndNewlines), !format.isEmpty {
      parts.append(try PropertyNames.predicate(format, of: entity))
    }
    return parts.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
  }

  private func members(
    _ owner: String, _ relationship: String, _ entity: NSEntityDescription
  ) throws -> (owner: NSManagedObject, relationship: NSRelationshipDescription)? {
    let parts = owner.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2, let id = store.id(entity: parts[0], reference: parts[1]),
      let object = try store.object(id), let found = object.entity.relationshipsByName[relationship], found.isToMany,
      found.destinationEntity?.name == entity.name
    else { return nil }
    return (object, found)
  }

  private func writeTable(
    _ entity: NSEntityDescription, ids: [NSManagedObjectID], _ selection: ObjectSelection, _ fields: FormFields,
    to page: inout HTMLPage
  ) throws {
    var (attributes, relationships) = (entity.storedAttributes, entity.sortedRelationships)
    if let title = entity.titleAttribute, let position = attributes.firstIndex(where: { $0 === title }) {
      attributes.insert(attributes.remove(at: position), at: 0)
    }
    relationships.removeAll { $0.destinationEntity?.name == nil }
    let heads = attributes.map { attribute -> HTMLPage.Cell in
      guard attribute.isSortable else { return .init(attribute.name) }
      let isSorted = selection.sortKey == attribute.name
      var fields = fields
      fields["page"] = nil
      (fields["sort"], fields["desc"]) = (attribute.name, isSorted && !selection.isDescending ? "1" : nil)
      let mark = isSorted ? (selection.isDescending ? " ▼" : " ▲") : ""
      return .init([.link(attribute.name + mark, address: address("list", entity.name ?? "", query: fields))])
    }
    var rows: [[HTMLPage.Cell]] = []
    for id in ids {
      // An object that another program has deleted meanwhile is left out.
      guard let object = try store.object(id) else { continue }
      let place = BrowsedStore.place(of: id)
      let label = place.entity == entity.name ? place.reference : Self.name(of: id)
      var row: [HTMLPage.Cell] = [.init([.link(label, address: address(of: id))])]
      row += attributes.map { cell(of: $0, object, limit: Self.shortText) }
      for relationship in relationships { row.append(.init(try shortParts(of: relationship, object))) }
      rows.append(row)
      // Of all values only those of one object are in memory.
      store.context.refresh(object, mergeChanges: false)
    }
    page.table(["Object"] + heads + relationships.map { .init($0.name) }, rows)
  }

  func cell(of attribute: NSAttributeDescription, _ object: NSManagedObject, limit: Int) -> HTMLPage.Cell {
    let value = ShownValue(
      object.value(forKey: attribute.name), of: attribute, limit: limit,
      address: address(ofValue: attribute.name, of: object.objectID))
    return .init(value.parts, isNumber: value.isNumber, style: value.style)
  }

  private func writePager(
    _ entity: NSEntityDescription, _ number: Int, _ count: Int, _ fields: FormFields, to page: inout HTMLPage
  ) {
    let last = max(1, (count + BrowsedStore.pageSize - 1) / BrowsedStore.pageSize)
    guard last > 1 || number > 1 else { return }
    func link(_ text: String, _ number: Int) -> [HTMLPage.Part] {
      var fields = fields
      fields["page"] = String(number)
      return [.link(text, address: address("list", entity.name ?? "", query: fields)), .text(" ")]
    }
    var parts: [HTMLPage.Part] = []
    if number > 1 { parts += link("First", 1) + link("Previous", min(number - 1, last)) }
    parts.append(.text("Page \(NumberText.grouped(number)) of \(NumberText.grouped(last)) "))
    if number < last { parts += link("Next", number + 1) + link("Last", last) }
    page.line(parts)
  }
}

/// Why a page cannot be shown.
enum BrowseProblem: Error {
  case noPage
  case noEntity(String)
  case noObject(String)

  /// A sentence for the page.
  func sentence(_ store: BrowsedStore) -> String {
    switch self {
    case .noPage: "There is no page at this address."
    case .noEntity(let name): "\(store.name) has no entity \(name)."
    case .noObject(let name): "\(store.name) has no object \(name). It may have been deleted."
    }
  }
}
