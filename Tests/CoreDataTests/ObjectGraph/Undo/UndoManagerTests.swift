// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Testing

@Suite("The undo manager")
struct UndoManagerTests {
  /// A list that registers how to reverse its changes.
  private final class List {
    let manager = UndoManager()
    var items: [Int] = []

    init(groupsByEvent: Bool = false) { manager.groupsByEvent = groupsByEvent }

    func add(_ item: Int) {
      items.append(item)
      manager.registerUndo(withTarget: self) { $0.removeLast() }
    }

    func removeLast() {
      let item = items.removeLast()
      manager.registerUndo(withTarget: self) { $0.add(item) }
    }

    func group(_ name: String = "", _ body: () -> Void) {
      manager.beginUndoGrouping()
      body()
      if !name.isEmpty { manager.setActionName(name) }
      manager.endUndoGrouping()
    }
  }

  @Test("Undoes and redoes groups, the last first, and forgets what to redo after another change")
  func groups() {
    let list = List()
    list.group("One") { list.add(1) }
    list.group("Two") {
      list.add(2)
      list.add(3)
    }
    #expect(list.manager.undoActionName == "Two" && list.manager.undoMenuItemTitle == "Undo Two")
    #expect(list.manager.canUndo && !list.manager.canRedo)
    list.manager.undo()
    #expect(list.items == [1] && list.manager.redoActionName == "Two" && list.manager.undoActionName == "One")
    list.manager.redo()
    #expect(list.items == [1, 2, 3])
    list.manager.undo()
    list.manager.undo()
    #expect(list.items.isEmpty && !list.manager.canUndo && list.manager.redoCount == 2)
    list.manager.redo()
    list.group { list.add(9) }
    #expect(list.items == [1, 9] && !list.manager.canRedo && list.manager.undoCount == 2)
    list.manager.undo()
    list.manager.undo()
    list.manager.undo()
    #expect(list.items.isEmpty)
  }

  @Test("A nested group is undone with the one around it, or alone by undoNestedGroup()")
  func nesting() {
    let list = List()
    list.manager.beginUndoGrouping()
    list.add(1)
    list.group { list.add(2) }
    #expect(list.manager.groupingLevel == 1)
    list.manager.undoNestedGroup()
    #expect(list.items == [1] && list.manager.groupingLevel == 1)
    list.group { list.add(3) }
    list.manager.endUndoGrouping()
    list.manager.undo()
    #expect(list.items.isEmpty)
    list.manager.redo()
    #expect(list.items == [1, 3])
  }

  @Test("With groups by event, undo() closes the group that the first registration has opened")
  func events() {
    let list = List(groupsByEvent: true)
    list.add(1)
    list.add(2)
    #expect(list.manager.groupingLevel == 1 && list.manager.canUndo)
    list.manager.undo()
    #expect(list.items.isEmpty && list.manager.groupingLevel == 0)
    list.manager.redo()
    #expect(list.items == [1, 2])
  }

  @Test("Keeps as many groups as it is told, and none of a target that is removed or gone")
  func limits() {
    let list = List()
    list.manager.levelsOfUndo = 2
    for item in 1...4 { list.group { list.add(item) } }
    for _ in 0..<4 { list.manager.undo() }
    #expect(list.items == [1, 2])
    let other = List()
    list.manager.beginUndoGrouping()
    list.manager.registerUndo(withTarget: other) { $0.items = [7] }
    list.manager.endUndoGrouping()
    #expect(list.manager.canUndo)
    list.manager.removeAllActions(withTarget: other)
    #expect(!list.manager.canUndo)
    list.group { list.add(5) }
    list.manager.removeAllActions()
    #expect(!list.manager.canUndo && list.manager.groupingLevel == 0)
    do {
      let gone = List()
      list.manager.beginUndoGrouping()
      list.manager.registerUndo(withTarget: gone) { _ in Issue.record("The target is gone.") }
      list.manager.endUndoGrouping()
    }
    list.manager.undo()
  }

  @Test("Registers nothing while registration is disabled")
  func disabling() {
    let list = List()
    list.manager.disableUndoRegistration()
    list.manager.disableUndoRegistration()
    list.add(1)
    list.manager.enableUndoRegistration()
    #expect(!list.manager.isUndoRegistrationEnabled)
    list.add(2)
    list.manager.enableUndoRegistration()
    #expect(list.manager.isUndoRegistrationEnabled && !list.manager.canUndo)
  }

  @Test("Posts what it does")
  func notifications() {
    let list = List()
    final class Log: @unchecked Sendable {
      var names: [String] = []
    }
    let log = Log()
    let observed: [Notification.Name] = [
      .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup, .NSUndoManagerDidCloseUndoGroup,
      .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange, .NSUndoManagerWillRedoChange,
      .NSUndoManagerDidRedoChange,
    ]
    let tokens = observed.map { name in
      NotificationCenter.default.addObserver(forName: name, object: list.manager, queue: nil) { note in
        log.names.append(note.name.rawValue.replacingOccurrences(of: "NSUndoManager", with: ""))
      }
    }
    list.group { list.add(1) }
    #expect(
      log.names == ["DidOpenUndoGroupNotification", "WillCloseUndoGroupNotification", "DidCloseUndoGroupNotification"])
    log.names = []
    list.manager.undo()
    #expect(log.names.first == "WillUndoChangeNotification" && log.names.last == "DidUndoChangeNotification")
    log.names = []
    list.manager.redo()
    #expect(log.names.first == "WillRedoChangeNotification" && log.names.last == "DidRedoChangeNotification")
    for token in tokens { NotificationCenter.default.removeObserver(token) }
  }

  @Test("Calls that do not match stop the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) { UndoManager().endUndoGrouping() }
    await #expect(processExitsWith: .failure) { UndoManager().enableUndoRegistration() }
    await #expect(processExitsWith: .failure) {
      let manager = UndoManager()
      manager.groupsByEvent = false
      manager.registerUndo(withTarget: manager) { _ in }
    }
    await #expect(processExitsWith: .failure) {
      let manager = UndoManager()
      manager.beginUndoGrouping()
      manager.undo()
    }
    await #expect(processExitsWith: .failure) {
      let manager = UndoManager()
      manager.beginUndoGrouping()
      manager.redo()
    }
    await #expect(processExitsWith: .failure) {
      let manager = UndoManager()
      manager.registerUndo(withTarget: manager) { $0.undoNestedGroup() }
      manager.undo()
    }
  }
}
