// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// The pages with forms that change the store.
extension BrowsePages {
  /// A sent form that was refused.
  struct Refusal {
    let sent: FormFields
    let problem: String
  }

  /// Returns the form of an object.
  func edit(_ object: NSManagedObject, _ refusal: Refusal? = nil) throws -> String {
    let (id, name) = (object.objectID, object.entity.name ?? "")
    var page = page(
      "Edit \(Self.name(of: id))",
      [.link(name, address: address("list", name)), .link(Self.name(of: id), address: address(of: id))])
    page.heading(1, "Edit \(title(of: object) ?? Self.name(of: id))")
    let place = BrowsedStore.place(of: id)
    try write(form(of: object), to: address("edit", place.entity, place.reference), button: "Save", refusal, &page)
    return page.html
  }

  /// Returns the form of a new object.
  func new(_ entity: NSEntityDescription, _ refusal: Refusal? = nil) throws -> String {
    let name = entity.name ?? ""
    var page = page("New \(name)", [.link(name, address: address("list", name))])
    page.heading(1, "New \(name)")
    // The values of a new object are its defaults. It is never saved.
    let object = NSManagedObject(entity: entity, insertInto: store.context)
    write(ObjectForm(object, version: 0), to: address("new", name), button: "Create", refusal, &page)
    return page.html
  }

  /// Returns the page that asks whether an object is to be deleted.
  func delete(_ object: NSManagedObject, _ problem: String? = nil) throws -> String {
    let (id, name) = (object.objectID, object.entity.name ?? "")
    let place = BrowsedStore.place(of: id)
    var page = page(
      "Delete \(Self.name(of: id))",
      [.link(name, address: address("list", name)), .link(Self.name(of: id), address: address(of: id))])
    page.heading(1, "Delete \(title(of: object) ?? Self.name(of: id))?")
    if let problem { page.paragraph(problem, style: "bad") }
    let relationships = object.entity.sortedRelationships
    if !relationships.isEmpty {
      page.table(
        ["Relationship", "Objects", "Rule"],
        try relationships.map { relationship in
          [
            .init(relationship.name), .init(try shortParts(of: relationship, object)),
            .init(Self.text(of: relationship.deleteRule), style: "dim"),
          ]
        })
    }
    page.form(
      to: address("delete", place.entity, place.reference), try hidden(form(of: object)), button: "Delete",
      changes: true, style: "danger")
    return page.html
  }

  private static func text(of rule: NSDeleteRule) -> String {
    switch rule {
    case .noActionDeleteRule: "No Action: they keep their relationship to an object that is missing"
    case .nullifyDeleteRule: "Nullify: they lose their relationship to this object"
    case .cascadeDeleteRule: "Cascade: they are deleted too"
    case .denyDeleteRule: "Deny: with any, the deletion is refused"
    }
  }

  private func form(of object: NSManagedObject) throws -> ObjectForm {
    ObjectForm(object, version: try store.store.version(of: object.objectID, store.coordinator))
  }

  private func hidden(_ form: ObjectForm) -> [HTMLPage.Field] {
    [.init("form", value: editing?.token ?? "", kind: .hidden), .init("state", value: form.state, kind: .hidden)]
  }

  private func write(
    _ form: ObjectForm, to target: String, button: String, _ refusal: Refusal?, _ page: inout HTMLPage
  ) {
    if let refusal { page.paragraph(refusal.problem, style: "bad") }
    let isOutdated = refusal.map { $0.sent["state"] != form.state } ?? false
    var fields = hidden(form)
    for field in form.fields {
      let sent = refusal.map { ObjectForm.text(of: field, in: $0.sent) }
      let text = sent ?? field.text
      let isOther = isOutdated && sent.map { $0 != field.text } ?? false
      let stored = ShownValue.line(field.text ?? "no value", limit: 200)
      let note = field.note + (isOther ? ". The store has: \(stored)" : "")
      fields.append(
        .init(
          field.valueName, label: field.label, value: text ?? "", kind: Self.control(field, text), note: note))
      if field.kind == .text, field.isOptional {
        fields.append(.init(field.noneName, label: "\(field.label): no value", kind: .check(isChecked: text == nil)))
      }
    }
    page.form(to: target, fields, button: button, changes: true, style: "edit")
    guard !form.others.isEmpty else { return }
    page.paragraph(
      "Not in this form: " + form.others.map { "\($0.name) (\($0.reason))" }.joined(separator: ", ")
        + ". coredata store set changes them.", style: "dim")
  }

  private static func control(_ field: ObjectForm.Field, _ text: String?) -> HTMLPage.Field.Kind {
    switch field.kind {
    case .text: .lines
    case .value, .objects: .line
    case .boolean: .choice(field.isOptional || field.text == nil ? ["", "true", "false"] : ["true", "false"])
    }
  }

  /// Returns links to change an object; none if the store is only read.
  func editLinks(_ object: NSManagedObject) -> [HTMLPage.Part] {
    guard editing != nil else { return [] }
    let place = BrowsedStore.place(of: object.objectID)
    return [
      .link("Edit", address: address("edit", place.entity, place.reference)), .text(" "),
      .link("Delete", address: address("delete", place.entity, place.reference)),
    ]
  }
}
