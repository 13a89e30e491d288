// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A controller of any result type.
protocol FetchedResultsOwner: AnyObject {
  var results: FetchedResults { get }
  /// The controller that the delegate receives.
  var controllerForDelegate: NSFetchedResultsController<any NSFetchRequestResult> { get }
  func sectionIndexTitle(forSectionName sectionName: String) -> String?
}

/// The contents of a fetched results controller, which follow the context's changes. Independent of the result type.
final class FetchedResults {
  /// A change of the context.
  private enum Event {
    /// Changes of objects.
    case objects(Set<NSManagedObject>)
    /// A reset of the context.
    case everything
  }

  let context: NSManagedObjectContext
  let sectionNameKeyPath: String?
  let cacheName: String?
  weak var owner: (any FetchedResultsOwner)?
  /// Whether the delegate implements the method that takes a difference; nil if that is not yet known.
  var delegateTakesDifferences: Bool?
  private(set) var content: FetchedResultsContent?
  /// The number of changes of the contents.
  private(set) var version = 0
  private var fetch: TrackedFetch?
  private var events: [Event] = []
  private var isHandlingEvents = false
  private var isFetching = false
  private var observers: [any NSObjectProtocol] = []
  private var infos: (sections: [any NSFetchedResultsSectionInfo], version: Int)?
  private var indexPaths: (of: [ObjectIdentifier: IndexPath], version: Int)?
  private var cachedVersion = -1

  init(context: NSManagedObjectContext, sectionNameKeyPath: String?, cacheName: String?) {
    self.context = context
    self.sectionNameKeyPath = sectionNameKeyPath
    self.cacheName = cacheName
  }

  deinit {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
  }

  weak var delegate: (any NSFetchedResultsControllerDelegate)? {
    didSet {
      delegateTakesDifferences = nil
      if observers.isEmpty, delegate != nil { observeContext() }
    }
  }

  // MARK: Fetching

  /// Replaces the contents with the results of a fetch.
  func fetch(_ specification: FetchSpecification, _ results: () throws -> [NSObject]) throws {
    guard specification.sortDescriptors != nil else {
      throw ObjectGraphErrors.badRequest(
        "The sort descriptors of a fetched results controller's request are nil.", entity: specification.entity,
        suggestion: "Set its sortDescriptors; an empty array fetches in the order of the rows.")
    }
    let fetched: (tracked: TrackedFetch, content: FetchedResultsContent)
    do {
      // The fetch itself processes pending changes, which its results already include.
      isFetching = true
      defer { isFetching = false }
      let tracked = try TrackedFetch(specification, sectionNameKeyPath: sectionNameKeyPath, in: context)
      fetched = (tracked, try divided(results(), by: tracked))
    } catch {
      handleEvents()
      throw error
    }
    events = []
    fetch = fetched.tracked
    content = fetched.content
    version += 1
    writeCache()
  }

  /// Divides fetched objects into sections.
  private func divided(_ objects: [NSObject], by fetch: TrackedFetch) throws -> FetchedResultsContent {
    guard let sectionNameKeyPath else { return FetchedResultsContent(undivided: objects) }
    if let cacheName,
      let sections = try FetchedSectionCache(named: cacheName).sections(
        of: objects, by: sectionNameKeyPath, name: fetch.sectionName)
    {
      return FetchedResultsContent(objects, divided: sections)
    }
    return try FetchedResultsContent(objects, dividedBy: fetch.sectionName) { position, name in
      throw ObjectGraphErrors.badRequest(
        "The fetched object at index \(position) has an out of order section name '\(name)'. Objects must be sorted by "
          + "section name.", entity: fetch.specification.entity,
        suggestion: "Make '\(sectionNameKeyPath)', or a key that sorts in the same order, the first sort descriptor.")
    }
  }

  /// Saves the sizes of the sections for the next launch.
  private func writeCache() {
    guard let cacheName, let sectionNameKeyPath, let content, cachedVersion != version else { return }
    cachedVersion = version
    FetchedSectionCache(named: cacheName).write(content.sections, by: sectionNameKeyPath)
  }

  // MARK: Reading

  func object(at indexPath: IndexPath) -> NSObject {
    guard let content else { trap("The controller has no contents: call performFetch() first.") }
    trap(unless: indexPath.count == 2, "\(indexPath) is not an index path of a section and an object.")
    let (section, item) = (indexPath[0], indexPath[1])
    trap(unless: content.sections.indices.contains(section), "There is no section at index \(section).")
    trap(
      unless: content.sections[section].objects.indices.contains(item),
      "There is no object at index \(item) in the section at index \(section).")
    return content.sections[section].objects[item]
  }

  /// The sections; nil if there are no contents.
  var sections: [any NSFetchedResultsSectionInfo]? {
    guard let content else { return nil }
    if let infos, infos.version == version { return infos.sections }
    let sections = content.sections.map { FetchedSectionInfo($0, self) }
    infos = (sections, version)
    return sections
  }

  func indexPath(of object: NSObject) -> IndexPath? {
    guard let content else { return nil }
    if let indexPaths, indexPaths.version == version { return indexPaths.of[ObjectIdentifier(object)] }
    var paths: [ObjectIdentifier: IndexPath] = [:]
    paths.reserveCapacity(content.count)
    for (index, section) in content.sections.enumerated() {
      for (item, object) in section.objects.enumerated() {
        paths[ObjectIdentifier(object)] = IndexPath(item: item, section: index)
      }
    }
    indexPaths = (paths, version)
    return paths[ObjectIdentifier(object)]
  }

  func indexTitle(ofSection name: String) -> String? {
    guard let owner else { return name.first?.uppercased() }
    guard let delegate else { return owner.sectionIndexTitle(forSectionName: name) }
    return delegate.controller(owner.controllerForDelegate, sectionIndexTitleForSectionName: name)
  }

  var sectionIndexTitles: [String] {
    var seen: Set<String> = []
    return content?.sections.compactMap { indexTitle(ofSection: $0.name) }.filter { seen.insert($0).inserted } ?? []
  }

  func section(forIndexTitle title: String, at index: Int) -> Int {
    let titles = sectionIndexTitles
    trap(
      unless: titles.indices.contains(index) && titles[index] == title, "The index title at \(index) is not '\(title)'."
    )
    return content?.sections.firstIndex { indexTitle(ofSection: $0.name) == title } ?? NSNotFound
  }

  // MARK: Following the context

  /// Forwards the context's notifications. They are posted on its queue, on which the controller is also used.
  private struct Observer: @unchecked Sendable {
    weak var results: FetchedResults?
  }

  private func observeContext() {
    let observer = Observer(results: self)
    func observe(_ name: Notification.Name, _ event: @escaping @Sendable (Notification) -> Void) {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil, using: event))
    }
    observe(NSManagedObjectContext.didChangeObjectsNotification) { observer.results?.contextDidChange($0) }
    observe(NSManagedObjectContext.didSaveObjectsNotification) { observer.results?.contextDidSave($0) }
  }

  private static func objects(in notification: Notification, _ keys: [String]) -> Set<NSManagedObject> {
    keys.reduce(into: []) { $0.formUnion(notification.userInfo?[$1] as? Set<NSManagedObject> ?? []) }
  }

  private func contextDidChange(_ notification: Notification) {
    if notification.userInfo?[NSInvalidatedAllObjectsKey] != nil { return add(.everything) }
    let keys = [
      NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey, NSInvalidatedObjectsKey,
    ]
    guard let fetch else { return }
    // Without pending changes, changed objects are noticed when they are saved.
    let objects = Self.objects(in: notification, keys).filter {
      fetch.concerns($0) && (fetch.specification.includesPendingChanges || !$0.hasChanges || $0.context !== context)
    }
    if !objects.isEmpty { add(.objects(objects)) }
  }

  private func contextDidSave(_ notification: Notification) {
    guard let fetch, delegate != nil else { return }
    if !fetch.specification.includesPendingChanges {
      let keys = [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey]
      let objects = Self.objects(in: notification, keys).filter(fetch.concerns)
      if !objects.isEmpty { add(.objects(objects)) }
    }
    writeCache()
  }

  private func add(_ event: Event) {
    guard delegate != nil, fetch?.isTracked == true else { return }
    events.append(event)
    if !isFetching { handleEvents() }
  }

  /// Processes the pending events, including those that the delegate causes while it is being notified.
  private func handleEvents() {
    guard !isHandlingEvents else { return }
    isHandlingEvents = true
    defer { isHandlingEvents = false }
    while !events.isEmpty {
      let event = events.removeFirst()
      guard let old = content, let fetch else { continue }
      do {
        var new = old
        switch event {
        case .objects(let objects):
          let difference = try change(&new, objects, fetch)
          report(from: old, to: new, difference)
        case .everything:
          new = try refetched(fetch)
          report(from: old, to: new, new.difference(from: old, touched: nil))
        }
      } catch {
        // Notifications cannot throw. The next save does.
        context.readingFailure = context.readingFailure ?? error
      }
    }
  }

  /// Applies the changes of objects to the contents.
  private func change(
    _ content: inout FetchedResultsContent, _ objects: Set<NSManagedObject>, _ fetch: TrackedFetch
  ) throws -> FetchedResultsContent.Difference {
    guard fetch.isFollowedByObject else {
      let old = content
      content = try refetched(fetch)
      return content.difference(from: old, touched: Set(objects.map(\.identifier.current.key)))
    }
    return try context.throwingReadingFailures {
      let wanted = try fetch.wanted(among: objects)
      return try content.replace(Set(objects.map { ObjectIdentifier($0) }), with: wanted, order: fetch.order)
    }
  }

  /// Repeats the fetch, to compare the results with the contents.
  private func refetched(_ fetch: TrackedFetch) throws -> FetchedResultsContent {
    isFetching = true
    defer { isFetching = false }
    let objects = try context.results(of: fetch.specification, affectedStores: fetch.specification.affectedStores)
      .compactMap { $0 as? NSManagedObject }
    guard sectionNameKeyPath != nil else { return FetchedResultsContent(undivided: objects) }
    return try FetchedResultsContent(objects, dividedBy: fetch.sectionName) { _, _ in }
  }

  /// Replaces the contents and notifies the delegate.
  private func report(
    from old: FetchedResultsContent, to new: FetchedResultsContent, _ difference: FetchedResultsContent.Difference
  ) {
    let changes = FetchedResultsChanges(from: old, to: new, difference)
    if changes.isEmpty { return }
    guard let owner, let delegate else { return setContent(new) }
    let controller = owner.controllerForDelegate
    if !new.isDivided, delegateTakesDifferences != false, let difference = changes.difference {
      setContent(new)
      delegate.controller(controller, didChangeContentWith: difference)
      // The default implementation declines.
      if delegateTakesDifferences != false {
        delegateTakesDifferences = true
        return
      }
      setContent(old)
    }
    delegate.controllerWillChangeContent(controller)
    setContent(new)
    let current = version
    for index in changes.deletedSections where version == current {
      // The section no longer exists, and neither do its objects in it.
      let info = FetchedSectionInfo(FetchedSection(name: old.sections[index].name, objects: []), self)
      delegate.controller(controller, didChange: info, atSectionIndex: index, for: .delete)
    }
    for index in changes.insertedSections where version == current {
      let info = FetchedSectionInfo(new.sections[index], self)
      delegate.controller(controller, didChange: info, atSectionIndex: index, for: .insert)
    }
    // After a delegate has fetched again, the remaining changes do not apply to the new contents.
    for change in changes.objects where version == current {
      delegate.controller(
        controller, didChange: change.object, at: change.old?.indexPath, for: change.type,
        newIndexPath: change.new?.indexPath)
    }
    delegate.controllerDidChangeContent(controller)
  }

  private func setContent(_ new: FetchedResultsContent) {
    content = new
    version += 1
  }
}

/// A snapshot of a section, which does not follow changes.
struct FetchedSectionInfo: NSFetchedResultsSectionInfo {
  private let section: FetchedSection
  private weak var results: FetchedResults?

  init(_ section: FetchedSection, _ results: FetchedResults) {
    self.section = section
    self.results = results
  }

  var name: String { section.name }
  var indexTitle: String? { results?.indexTitle(ofSection: section.name) }
  var numberOfObjects: Int { section.objects.count }
  var objects: [Any]? { section.objects }
}
