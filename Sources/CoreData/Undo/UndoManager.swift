// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Dispatch
import Foundation

/// Records operations that can be undone and redone.
///
/// Operations are registered in groups, which may be nested. With `groupsByEvent`, the first registration opens a
/// group, which a managed object context closes after it has processed its pending changes. A group opened on the main
/// thread is also closed at the end of the current turn of the main queue, and any such group by `undo()`.
///
/// Foundation on Linux lacks this class. This one has Apple's name and behavior. Differs from Apple: there are no
/// selectors, so operations are closures; there are no `runLoopModes`, and menu titles exist only in English.
open class UndoManager: NSObject {
  /// A group of operations.
  private final class Group {
    var actions: [Action] = []
    var name = ""
    var isDiscardable = false

    func removeActions(of target: ObjectIdentifier) {
      actions.removeAll { action in
        switch action {
        case .operation(target, _): return true
        case .operation: return false
        case .group(let group):
          group.removeActions(of: target)
          return group.actions.isEmpty
        }
      }
    }
  }

  private enum Action {
    case operation(target: ObjectIdentifier, () -> Void)
    case group(Group)
  }

  private var undoStack: [Group] = []
  private var redoStack: [Group] = []
  /// The open groups, outermost first.
  private var openGroups: [Group] = []
  /// The number of times that registration has been disabled.
  private var disabledCount = 0
  /// Whether the outermost open group is that of an event.
  private var isEventGroup = false

  /// Creates a manager without operations.
  public override init() {
    super.init()
  }

  // MARK: Groups

  /// Opens a group. If there is no group for the event, it is opened first.
  open func beginUndoGrouping() {
    if openGroups.isEmpty, groupsByEvent, !isUndoing, !isRedoing { openEventGroup() }
    openGroup()
  }

  /// Closes the innermost open group. Traps if there is none.
  open func endUndoGrouping() {
    trap(unless: !openGroups.isEmpty, "endUndoGrouping() was called without a matching beginUndoGrouping().")
    post(.NSUndoManagerCheckpoint)
    let isDiscardable = openGroups.last?.isDiscardable ?? false
    post(.NSUndoManagerWillCloseUndoGroup, [NSUndoManagerGroupIsDiscardableKey: isDiscardable])
    let group = openGroups.removeLast()
    if let outer = openGroups.last {
      outer.actions.append(.group(group))
      if !group.name.isEmpty { outer.name = group.name }
    } else {
      isEventGroup = false
      if isUndoing { redoStack.append(group) } else { undoStack.append(group) }
      limitLevels()
    }
    post(.NSUndoManagerDidCloseUndoGroup)
  }

  /// The number of open groups.
  open var groupingLevel: Int { openGroups.count }

  /// Whether a group is opened for each event; true by default.
  open var groupsByEvent = true

  /// The maximum number of kept groups, not counting nested ones; 0, the default, for no limit.
  open var levelsOfUndo = 0 { didSet { limitLevels() } }

  private func limitLevels() {
    guard levelsOfUndo > 0 else { return }
    undoStack.removeFirst(max(0, undoStack.count - levelsOfUndo))
    redoStack.removeFirst(max(0, redoStack.count - levelsOfUndo))
  }

  private func openGroup() {
    if !openGroups.isEmpty { post(.NSUndoManagerCheckpoint) }
    openGroups.append(Group())
    post(.NSUndoManagerDidOpenUndoGroup)
  }

  private func openEventGroup() {
    openGroup()
    isEventGroup = true
    guard Thread.isMainThread else { return }
    let reference = WeakReference(manager: self)
    DispatchQueue.main.async { reference.manager?.closeEventGroup() }
  }

  /// Carries a manager to the end of the main queue's turn. Used only on the main thread.
  private struct WeakReference: @unchecked Sendable {
    weak var manager: UndoManager?
  }

  /// Closes the group of the current event, unless a nested group is open.
  func closeEventGroup() {
    if isEventGroup, openGroups.count == 1, !isUndoing, !isRedoing { endUndoGrouping() }
  }

  // MARK: Registration

  /// Registers an operation that undoes the current change of the program. Clears the operations to redo, unless the
  /// manager is undoing or redoing.
  ///
  /// Traps without an open group, unless `groupsByEvent` is true.
  ///
  /// - Parameters:
  ///   - target: the object that the operation changes; not retained. If it has been deallocated, nothing happens.
  ///   - handler: the operation, which registers its own reversal.
  open func registerUndo<TargetType: AnyObject>(
    withTarget target: TargetType, handler: @escaping (TargetType) -> Void
  ) {
    guard isUndoRegistrationEnabled else { return }
    if openGroups.isEmpty {
      trap(unless: groupsByEvent, "Call beginUndoGrouping() before registering undo operations.")
      openEventGroup()
    }
    if !isUndoing, !isRedoing { redoStack = [] }
    openGroups.last?.actions.append(
      .operation(target: ObjectIdentifier(target)) { [weak target] in
        if let target { handler(target) }
      })
  }

  /// Disables registration until the matching `enableUndoRegistration()`.
  open func disableUndoRegistration() { disabledCount += 1 }

  /// Enables registration again. Traps without a matching `disableUndoRegistration()`.
  open func enableUndoRegistration() {
    trap(unless: disabledCount > 0, "enableUndoRegistration() was called without disableUndoRegistration().")
    disabledCount -= 1
  }

  /// Whether registration is enabled.
  open var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Removes all operations, closes all groups, and enables registration.
  open func removeAllActions() {
    undoStack = []
    redoStack = []
    disabledCount = 0
    guard !isUndoing, !isRedoing else { return }
    openGroups = []
    isEventGroup = false
  }

  /// Removes the operations on an object.
  ///
  /// - Parameter target: the object.
  open func removeAllActions(withTarget target: Any) {
    let identity = ObjectIdentifier(target as AnyObject)
    for group in undoStack + redoStack + openGroups { group.removeActions(of: identity) }
    undoStack.removeAll(where: \.actions.isEmpty)
    redoStack.removeAll(where: \.actions.isEmpty)
  }

  // MARK: Undoing and redoing

  /// Whether there is something to undo.
  open var canUndo: Bool { !undoStack.isEmpty || openGroups.contains { !$0.actions.isEmpty } }

  /// Whether there is something to redo.
  open var canRedo: Bool {
    post(.NSUndoManagerCheckpoint)
    return !redoStack.isEmpty
  }

  /// The number of groups that can be undone.
  open var undoCount: Int { undoStack.count }

  /// The number of groups that can be redone.
  open var redoCount: Int { redoStack.count }

  /// Whether the manager is undoing.
  open private(set) var isUndoing = false

  /// Whether the manager is redoing.
  open private(set) var isRedoing = false

  /// Closes the open group, and undoes the last group. Traps if more than one group is open.
  open func undo() {
    if !isUndoing, !isRedoing { post(.NSUndoManagerCheckpoint) }
    if openGroups.count == 1, !isUndoing, !isRedoing { endUndoGrouping() }
    trap(unless: openGroups.isEmpty, "undo() was called while groups are open: end them first.")
    undoNestedGroup()
  }

  /// Undoes the last closed group, which may be a nested one.
  open func undoNestedGroup() {
    trap(unless: !isUndoing && !isRedoing, "Undo and redo cannot be called by an operation that they run.")
    post(.NSUndoManagerCheckpoint)
    let group: Group
    if let outer = openGroups.last {
      guard case .group(let nested)? = outer.actions.last else { return }
      outer.actions.removeLast()
      group = nested
    } else {
      guard let last = undoStack.popLast() else { return }
      group = last
    }
    post(.NSUndoManagerWillUndoChange)
    isUndoing = true
    let outside = openGroups
    openGroups = []
    reverse(group)
    openGroups = outside
    isUndoing = false
    post(.NSUndoManagerDidUndoChange)
  }

  /// Redoes the group that was undone last. Traps if a group is open.
  open func redo() {
    trap(unless: !isUndoing && !isRedoing, "Undo and redo cannot be called by an operation that they run.")
    trap(unless: openGroups.isEmpty, "redo() was called while groups are open: end them first.")
    post(.NSUndoManagerCheckpoint)
    guard let group = redoStack.popLast() else { return }
    post(.NSUndoManagerWillRedoChange)
    isRedoing = true
    reverse(group)
    isRedoing = false
    post(.NSUndoManagerDidRedoChange)
  }

  /// Runs the operations of a group, last to first, and collects what they register in a group of the same name.
  private func reverse(_ group: Group) {
    openGroup()
    openGroups.last?.name = group.name
    openGroups.last?.isDiscardable = group.isDiscardable
    run(group)
    while !openGroups.isEmpty { endUndoGrouping() }
  }

  private func run(_ group: Group) {
    for action in group.actions.reversed() {
      switch action {
      case .operation(_, let operation): operation()
      case .group(let nested): run(nested)
      }
    }
  }

  // MARK: Names

  private var groupToUndo: Group? { openGroups.first { !$0.actions.isEmpty } ?? undoStack.last }

  /// The name of the group that `undo()` undoes; empty if it has none.
  open var undoActionName: String { canUndo ? groupToUndo?.name ?? "" : "" }

  /// The name of the group that `redo()` redoes; empty if it has none.
  open var redoActionName: String { redoStack.last?.name ?? "" }

  /// Names the open group, or the last one.
  ///
  /// - Parameter actionName: the name, such as `Typing`.
  open func setActionName(_ actionName: String) {
    (openGroups.last ?? undoStack.last)?.name = actionName
  }

  /// Marks the open group, or the last one, as discardable, for example because it only changes the view.
  ///
  /// - Parameter discardable: whether the group can be discarded.
  open func setActionIsDiscardable(_ discardable: Bool) {
    (openGroups.last ?? undoStack.last)?.isDiscardable = discardable
  }

  /// Whether the group to undo is discardable.
  open var undoActionIsDiscardable: Bool { groupToUndo?.isDiscardable ?? false }

  /// Whether the group to redo is discardable.
  open var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

  /// The title of a menu item for undo: `Undo Typing`.
  open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }

  /// The title of a menu item for redo: `Redo Typing`.
  open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }

  /// Returns the title of a menu item for undo.
  ///
  /// - Parameter actionName: the name of the action.
  open func undoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Undo" : "Undo \(actionName)"
  }

  /// Returns the title of a menu item for redo.
  ///
  /// - Parameter actionName: the name of the action.
  open func redoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Redo" : "Redo \(actionName)"
  }

  private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}

/// Key of `NSUndoManagerWillCloseUndoGroup`: a Bool; whether the group is discardable.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
  /// Posted before a nested group is opened, before a group is closed, before undo and redo, and when `canRedo` is read.
  public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
  /// Posted after a group has been opened.
  public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  /// Posted before a group is closed.
  public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  /// Posted after a group has been closed.
  public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
  /// Posted before undo.
  public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
  /// Posted after undo.
  public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
  /// Posted before redo.
  public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
  /// Posted after redo.
  public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
}
