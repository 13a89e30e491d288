// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import SwiftSourceScanning

/// Translates source code written for Apple's systems so that it compiles without Objective-C, without moving a line.
///
/// `@NSManaged` properties and methods get accessors; `@objc`, `@objcMembers`, `@nonobjc` and `dynamic` are removed;
/// `#keyPath` becomes its string; resources are looked up in the package's bundle; expressions of mapping models can
/// call the methods of a migration policy. Code that cannot be translated is reported. Code excluded by `#if` is left
/// alone.
package struct Translator {
  /// The use of the translated sources.
  package enum Purpose {
    /// A copy for one build, in which every line keeps its position.
    case build
    /// The sources themselves, which still build on Apple's systems, and also on others.
    case port
  }

  /// A translated file.
  package struct Translation {
    /// The contents of the new file.
    package let bytes: [UInt8]
    /// Whether requests are cast with the operators of `RequestCasts`.
    package let castsRequests: Bool
    package let messages: [SourceMessage]
  }

  private let program: ProgramTypes
  private let hasResources: Bool
  private let purpose: Purpose

  /// Creates a translator.
  ///
  /// - Parameters:
  ///   - files: all files of the program's module, for their type declarations.
  ///   - models: the versions of models whose entities the classes belong to.
  ///   - hasResources: whether the module has resources, and therefore its own bundle.
  ///   - purpose: the use of the translated sources.
  package init(files: [SourceFile], models: [ModelDocument], hasResources: Bool, purpose: Purpose = .build) {
    program = ProgramTypes(files: files, models: models)
    self.hasResources = hasResources
    self.purpose = purpose
  }

  /// The classes by their Objective-C names, which models, mapping models and archives use.
  package var objectiveCNames: [String: String] { program.objectiveCNames }

  /// The overrides that classes generated from a model need for members of their extensions, as lines by class.
  package var generatedMembers: [String: [String]] {
    Dictionary(
      uniqueKeysWithValues: program.overriddenClasses.map { name in
        (
          name,
          program.overrides(of: name, access: "public ").flatMap { $0.lines(indentation: ("  ", "  ")) }
        )
      })
  }

  /// Translates a file.
  package func translate(_ file: SourceFile) -> Translation {
    var pass = TranslationPass(file, program, hasResources: hasResources, purpose)
    pass.run()
    return Translation(
      bytes: pass.edits.applied(to: file.bytes, keepsLines: purpose == .build), castsRequests: pass.castsRequests,
      messages: pass.messages)
  }
}

/// The translation of one file.
struct TranslationPass {
  let file: SourceFile
  let program: ProgramTypes
  let hasResources: Bool
  let purpose: Translator.Purpose
  var edits = SourceEdits()
  private(set) var messages: [SourceMessage] = []
  /// Whether requests are cast with the operators of `RequestCasts`.
  private(set) var castsRequests = false
  /// The constants already added to each type in this file.
  private var constants: [String: Set<String>] = [:]
  /// The names that only Apple's Foundation has and that have been reported.
  var reported: Set<String> = []
  /// The `@NSManaged` declarations that a port keeps for Apple's systems.
  var managedDeclarations: [PortedDeclaration] = []
  /// The position after the last attributes kept for Apple's systems.
  var endOfKeptAttributes = 0
  /// The additional indentation of a block in the file, for a port.
  private(set) var indentationOfBlocks = ""

  init(_ file: SourceFile, _ program: ProgramTypes, hasResources: Bool, _ purpose: Translator.Purpose) {
    self.file = file
    self.purpose = purpose
    self.program = program
    self.hasResources = hasResources
    if purpose == .port { indentationOfBlocks = findIndentationOfBlocks() }
  }

  mutating func run() {
    for position in file.words.indices {
      switch file.words[position] {
      case "@" where file.isWord(position + 1): attribute(position)
      case "#" where file.word(position + 2) == "(": literal(position)
      case "dynamic" where purpose == .build && isModifier(position): remove(position..<position + 1)
      case "init" where file.word(position + 1) == "(" && isRequiredInitializer(position): requiredInitializer(position)
      case "Bundle": bundle(position)
      case "main": impliedBundle(position)
      case "as" where file.word(position + 2) == "NSFetchRequest" && file.word(position + 3) == "<":
        requestCast(position)
      // Names that this Foundation lacks are in CoreData, which includes Foundation.
      case "Foundation" where file.word(position - 1) == "import":
        if purpose == .build || needsCoreData { edits.replace(file.tokens[position].range, "CoreData") }
      case "Foundation" where file.word(position + 1) == "." && Self.movedNames.contains(file.word(position + 2)):
        switch purpose {
        case .build: edits.replace(file.tokens[position].range, "CoreData")
        case .port: remove(position..<position + 2)
        }
      case "FileProtectionType" where file.word(position + 1) == "." && file.word(position + 3) == "as":
        protectionCast(position)
      default: report(position)
      }
    }
    for type in file.types { moveOverrides(of: type) }
    for type in file.types where type.kind == "class" && type.body.upperBound < file.tokens.count {
      let canAdd = purpose == .build && !type.isHidden
      let overrides = canAdd ? program.overrides(of: type.name, access: type.access) : []
      let members = ([callFunction(type), validateValue(type)] + keyValueCoding(type)).compactMap { $0 } + overrides
      guard !members.isEmpty else { continue }
      switch purpose {
      case .build: add(members, to: type)
      case .port: addElsewhere(members, to: type)
      }
    }
    keepManagedDeclarations()
    if purpose == .port { keepViews() }
  }

  // MARK: Tools

  mutating func emit(_ severity: SourceMessage.Severity, _ text: String, at position: Int) {
    note(severity, text, at: file.place(of: file.tokens[position].range.lowerBound))
  }

  mutating func note(_ severity: SourceMessage.Severity, _ text: String, at place: (line: Int, column: Int)) {
    messages.append(
      SourceMessage(severity: severity, path: file.path, line: place.line, column: place.column, text: text))
  }

  /// Removes tokens and the spaces after them.
  mutating func remove(_ positions: Range<Int>) {
    guard let first = positions.first, let last = positions.last else { return }
    var end = file.tokens[last].range.upperBound
    while end < file.bytes.count, file.bytes[end] == UInt8(ascii: " ") || file.bytes[end] == UInt8(ascii: "\t") {
      end += 1
    }
    edits.replace(file.tokens[first].range.lowerBound..<end, "")
  }

  /// Adds members to a type, on the line of its closing brace.
  private mutating func add(_ members: [MemberText], to type: TypeDeclaration) {
    let place = file.tokens[type.body.upperBound].range.lowerBound
    let last = file.tokens[type.body.upperBound - 1].range.upperBound
    let isOnOneLine = !type.body.isEmpty && !file.bytes[last..<place].contains(UInt8(ascii: "\n"))
    edits.insert((isOnOneLine ? "; " : " ") + members.map(\.line).joined(separator: "; ") + " ", at: place)
  }

  /// Returns whether a type has no constant of this name in the file yet, and records that it has one now.
  mutating func needs(_ constant: String, in type: TypeDeclaration) -> Bool {
    constants[type.name, default: []].insert(constant).inserted
  }

  /// Whether a word is a modifier of a declaration rather than a name.
  private func isModifier(_ position: Int) -> Bool {
    let next = file.word(position + 1)
    return file.word(position - 1) != "."
      && (DeclarationHead.words.contains(next) || ["var", "let", "func", "init", "subscript", "@"].contains(next))
  }

  // MARK: Attributes

  private mutating func attribute(_ position: Int) {
    switch file.word(position + 1) {
    case "objc", "objcMembers", "nonobjc":
      switch purpose {
      case .build: remove(position..<endOfAttribute(position))
      case .port: keepAttribute(position)
      }
    case "NSManaged":
      if purpose == .build { remove(position..<position + 2) }
      managed(position)
    case "IBOutlet", "IBAction", "IBInspectable", "IBDesignable", "IBSegueAction", "NSCopying", "GKInspectable":
      emit(
        .error, "@\(file.word(position + 1)) exists on Apple's systems only. Put #if canImport(ObjectiveC) around it.",
        at: position)
    default: break
    }
  }

  /// Returns the position after an attribute that may have arguments.
  func endOfAttribute(_ position: Int) -> Int {
    let end = position + 2
    let hasArguments =
      file.word(end) == "(" && file.tokens[end].range.lowerBound == file.tokens[end - 1].range.upperBound
    return hasArguments ? file.afterBrackets(end) : end
  }

  /// Returns whether an initializer is one that CoreData requires of all subclasses. Without Objective-C, it can make
  /// objects of classes that it knows by name only by initializers that all of them have.
  private func isRequiredInitializer(_ position: Int) -> Bool {
    switch file.word(position + 2) {
    case "entity", "managedObjectModel", "persistentStoreCoordinator": true
    case ")": file.type(around: position).map { program.isPolicy($0.bareName) } ?? false
    default: false
    }
  }

  /// Makes an overridden initializer required.
  private mutating func requiredInitializer(_ position: Int) {
    let head = DeclarationHead(before: position, in: file)
    guard head.modifiers.contains("override"),
      let override = (0..<position).last(where: { file.words[$0] == "override" })
    else { return }
    // A required initializer is as accessible as its class, even if Apple's compiler allows a private override.
    for modifier in Declaration(around: override, in: file).start..<position
    where ["private", "fileprivate"].contains(file.word(modifier)) {
      remove(modifier..<modifier + 1)
    }
    switch (purpose, head.modifiers.contains("required")) {
    case (.build, true): remove(override..<override + 1)
    case (.build, false): edits.replace(file.tokens[override].range, "required")
    case (.port, true): break
    case (.port, false): edits.insert("required ", at: file.tokens[override].range.lowerBound)
    }
  }

  // MARK: Literals

  private mutating func literal(_ position: Int) {
    switch file.word(position + 1) {
    case "keyPath": keyPath(position)
    case "selector": selector(position)
    default: break
    }
  }

  private mutating func keyPath(_ position: Int) {
    let end = file.afterBrackets(position + 2)
    let inside = position + 3..<max(position + 3, end - 1)
    // Key paths are not nested. Without this check, several unclosed ones would each be read to the end of the file.
    let names = inside.prefix { file.word($0) != "#" }.filter { file.isWord($0) }
    let parts = names.map { file.word($0).filter { $0 != "`" } }
    let (keys, problem) = program.keys(in: parts, around: file.type(around: position))
    if let problem { emit(.error, problem.text, at: names[problem.part]) }
    guard end <= file.tokens.count else { return }
    let range = file.tokens[position].range.lowerBound..<file.tokens[end - 1].range.upperBound
    edits.replace(range, "\"\(keys.joined(separator: "."))\"")
  }

  /// Replaces a cast of a file protection type to an object, such as `FileProtectionType.complete as NSObject`, which
  /// is impossible without Objective-C.
  private mutating func protectionCast(_ position: Int) {
    guard ["NSObject", "NSString"].contains(file.word(position + 4)) else { return }
    let name = file.word(position + 2)
    edits.replace(
      file.tokens[position].range.lowerBound..<file.tokens[position + 4].range.upperBound,
      "NSString(string: FileProtectionType.\(name).rawValue)")
  }

  // MARK: Requests

  /// Replaces a cast between requests of different result types, which is impossible without Objective-C.
  private mutating func requestCast(_ position: Int) {
    let mark = file.word(position + 1)
    let end = file.afterBrackets(position + 3)
    guard mark == "?" || mark == "!", end <= file.tokens.count else { return }
    if purpose == .port {
      if replaceRequestCast(position, end) { return }
      castsRequests = true
    }
    // The macros of tests treat an operator as a comparison.
    if let start = macroArgument(before: position) {
      edits.insert("(", at: file.tokens[start].range.lowerBound)
      edits.insert(".self).self", at: file.tokens[end - 1].range.upperBound)
    } else {
      edits.insert(".self", at: file.tokens[end - 1].range.upperBound)
    }
    edits.replace(file.tokens[position].range.lowerBound..<file.tokens[position + 1].range.upperBound, "=>\(mark)")
  }

  /// Returns the start of the argument of `#require` or `#expect` that contains a cast; nil for any other cast.
  private func macroArgument(before position: Int) -> Int? {
    var (open, depth) = (position - 1, 0)
    var start: Int?
    while open > 1 {
      switch file.word(open) {
      case ")", "]", "}": depth += 1
      case "(", "[", "{":
        if depth == 0 {
          let isMacro = file.word(open - 2) == "#" && ["require", "expect"].contains(file.word(open - 1))
          return isMacro && file.word(open) == "(" ? start ?? open + 1 : nil
        }
        depth -= 1
      case "," where depth == 0 && start == nil: start = open + 1
      default: break
      }
      open -= 1
    }
    return nil
  }

  // MARK: Untranslatable code

  private mutating func report(_ position: Int) {
    switch file.words[position] {
    case "observeValue" where file.word(position - 1) == "func":
      emit(
        .error,
        "There is no key-value observing without Objective-C. Override didChangeValue(forKey:) in the managed object, or "
          + "observe NSManagedObjectContextObjectsDidChange.", at: position)
    case "addObserver" where file.word(position + 1) == "(" && hasLabel("forKeyPath", in: position + 1):
      emit(.error, Self.noObserving, at: position)
    // The program may have its own method of this name.
    case "observe" where file.word(position + 1) == "(" && file.word(position + 2) == "\\":
      emit(.warning, Self.noObserving, at: position)
    case "validateValue" where file.word(position - 1) == "func" && hasPointer(position + 1):
      emit(
        .error,
        "There are no pointers to object references without Objective-C: the value is inout. Write "
          + "validateValue(_ value: inout Any?, forKey key: String).", at: position)
    case "keyPathsForValuesAffectingValue" where file.word(position - 1) == "func":
      emit(
        .error, "There is no key-value observing without Objective-C. Put #if canImport(ObjectiveC) around the method.",
        at: position)
    // Views are kept for Apple's systems (`keepViews`).
    case "import" where purpose == .port && file.word(position + 1) == "SwiftUI": break
    case "import" where purpose == .port && CompilationCondition.missingModules.contains(file.word(position + 1)):
      let module = file.word(position + 1)
      emit(
        .error,
        "\(module) exists on Apple's systems only. Put #if canImport(\(module)) around the import and what needs it.",
        at: position)
    case "optional" where ["func", "var"].contains(file.word(position + 1)):
      emit(
        .error,
        "A protocol's member is optional only in Objective-C. Give it a default in an extension of the protocol.",
        at: position)
    default: if purpose == .port { reportMissing(position) }
    }
  }

  private static let noObserving =
    "There is no key-value observing without Objective-C. Observe NSManagedObjectContextObjectsDidChange, or override "
    + "didChangeValue(forKey:) in the managed object."

  private func hasPointer(_ brackets: Int) -> Bool {
    let end = min(file.afterBrackets(brackets), file.words.count)
    return (brackets..<max(brackets, end)).contains { file.word($0) == CallableMethod.pointer }
  }

  /// Whether a call has an argument with a label.
  private func hasLabel(_ label: String, in brackets: Int) -> Bool {
    let end = min(file.afterBrackets(brackets), file.words.count)
    return (brackets..<end).contains { file.word($0) == label && file.word($0 + 1) == ":" }
  }
}
