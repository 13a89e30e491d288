// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation

/// A list that shows a controller's contents, and changes only by what its delegate is told, as a table view applies the
/// changes of one batch.
final class FetchedListMirror: NSObject, NSFetchedResultsControllerDelegate {
  struct Section: Equatable {
    var name: String
    var rows: [String]
  }

  private struct RowChange {
    let name: String?
    let type: NSFetchedResultsChangeType
    let old: IndexPath?
    let new: IndexPath?
  }

  private(set) var sections: [Section] = []
  private(set) var problems: [String] = []
  /// The calls of the last batch: `willChange`, `insert 0-1`, `section delete 2`.
  private(set) var calls: [String] = []
  private(set) var batches = 0
  private var rowChanges: [RowChange] = []
  private var deletedSections: [Int] = []
  private var insertedSections: [(index: Int, name: String)] = []
  private var isChanging = false
  private let key: String

  init(key: String = "name") {
    self.key = key
  }

  /// Shows the contents of a controller.
  func show(_ controller: NSFetchedResultsController<NSManagedObject>) {
    sections = Self.sections(of: controller, key)
  }

  static func sections(of controller: NSFetchedResultsController<NSManagedObject>, _ key: String = "name") -> [Section]
  {
    (controller.sections ?? []).map { info in
      Section(
        name: info.name,
        rows: (info.objects ?? []).map { (($0 as? NSManagedObject)?.value(forKey: key) as? String) ?? "nil" })
    }
  }

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    expect(!isChanging, "a batch begins in another")
    isChanging = true
    (rowChanges, deletedSections, insertedSections) = ([], [], [])
    calls = ["willChange"]
    let counts = (controller.sections ?? []).map(\.numberOfObjects)
    expect(counts == sections.map(\.rows.count), "willChange sees \(counts)")
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let name = type == .delete ? nil : (anObject as? NSManagedObject)?.value(forKey: key) as? String
    rowChanges.append(RowChange(name: name, type: type, old: indexPath, new: newIndexPath))
    let paths = [indexPath, newIndexPath].map { $0.map { "\($0.section)-\($0.row)" } ?? "" }
    calls.append("\(type) \(paths.joined(separator: ">"))")
    if let newIndexPath {
      expect(
        controller.object(at: newIndexPath) as AnyObject === anObject as AnyObject, "another object at the new path")
    }
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    calls.append("section \(type) \(sectionIndex)")
    expect(rowChanges.isEmpty, "a section after objects")
    if type == .delete {
      deletedSections.append(sectionIndex)
    } else {
      insertedSections.append((sectionIndex, sectionInfo.name))
    }
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    calls.append("didChange")
    isChanging = false
    batches += 1
    let problem = apply()
    expect(problem == nil, problem ?? "")
  }

  private func expect(_ condition: Bool, _ problem: String) {
    if !condition { problems.append("\(problem): \(calls.joined(separator: ", "))") }
  }

  /// Applies the batch; returns what is wrong with it.
  private func apply() -> String? {
    let leaving = rowChanges.filter { $0.type == .delete || $0.type == .move }.compactMap(\.old)
    let coming = rowChanges.filter { $0.type == .insert || $0.type == .move }.compactMap { change in
      change.new.map { (path: $0, name: change.name ?? "nil") }
    }
    if Set(leaving).count != leaving.count { return "a row leaves twice" }
    for path in leaving + rowChanges.filter({ $0.type == .update }).compactMap(\.old) {
      guard sections.indices.contains(path.section), sections[path.section].rows.indices.contains(path.row) else {
        return "there is no row \(path)"
      }
    }
    for change in rowChanges where change.type == .update || change.type == .move {
      guard let old = change.old, change.new != nil else { return "\(change.type) without both paths" }
      if sections[old.section].rows[old.row] != change.name { return "\(change.type) of another row at \(old)" }
    }
    for path in leaving.sorted(by: >) { sections[path.section].rows.remove(at: path.row) }
    for index in deletedSections.sorted(by: >) {
      guard sections.indices.contains(index) else { return "there is no section \(index)" }
      if !sections[index].rows.isEmpty { return "rows of section \(index) are not reported" }
      sections.remove(at: index)
    }
    for (index, name) in insertedSections.sorted(by: { $0.index < $1.index }) {
      guard index <= sections.count else { return "section \(index) cannot be inserted" }
      sections.insert(Section(name: name, rows: []), at: index)
    }
    for (path, name) in coming.sorted(by: { $0.path < $1.path }) {
      guard sections.indices.contains(path.section), path.row <= sections[path.section].rows.count else {
        return "no place for the row \(path)"
      }
      sections[path.section].rows.insert(name, at: path.row)
    }
    for change in rowChanges where change.type == .update {
      guard let new = change.new, sections.indices.contains(new.section),
        sections[new.section].rows.indices.contains(new.row), sections[new.section].rows[new.row] == change.name
      else { return "an updated row is not at \(String(describing: change.new))" }
    }
    return nil
  }
}
