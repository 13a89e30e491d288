// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

/// What no command may write: a file that it reads, or that belongs to one.
@Suite("Outputs that are inputs")
struct OutputSafetyTests {
  private let shop: PictureShop

  init() throws {
    shop = try PictureShop()
    try shop.fill(shop.store, pictures: 2)
    try FileManager.default.createDirectory(atPath: shop.path("Fixtures"), withIntermediateDirectories: true)
    for name in ["Fixtures/Shipped.sqlite", "Other.sqlite"] {
      try FileManager.default.copyItem(atPath: shop.store, toPath: shop.path(name))
    }
    try FileManager.default.createSymbolicLink(
      atPath: shop.path("Fixtures/Linked.sqlite"), withDestinationPath: shop.path("Other.sqlite"))
    for name in ["allow.txt", "Map.mapping", "libPolicies.so", "Sources/App.swift"] {
      let file = URL(fileURLWithPath: shop.path(name))
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("content of \(name)".utf8).write(to: file)
    }
    #expect(CommandRun("model", "lock", shop.model).status == .done)
  }

  /// A file or directory for each placeholder of an input.
  private func input(_ placeholder: String) throws -> String {
    switch placeholder {
    case "STORE", "A store", "BACKUP": shop.store
    case "MODEL", "A", "B": shop.model
    case "PATH": shop.store
    case "FILE": shop.path("Map.mapping")
    case "DIR": shop.path("Fixtures")
    case "LIB.so": shop.path("libPolicies.so")
    default: try #require(nil as String?, "There is no input for \(placeholder): add one.")
    }
  }

  /// A command line with a value for each argument, and one for each option that names an input.
  ///
  /// - Returns: the words, and the inputs among them.
  private func line(_ command: CommandSpecification) throws -> (words: [String], inputs: [String]) {
    var (words, inputs) = (command.path, [String]())
    for place in command.positionals where place.role != .output {
      let isStore = command.path == ["store", "diff"]
      let value = place.role == .none ? "x" : try input(isStore ? "STORE" : place.name)
      words.append(value)
      if place.role.isRead { inputs.append(value) }
    }
    for option in command.options {
      guard case .path(let placeholder, let role) = option.value, role.isRead, option.name != "file" else { continue }
      let value = option.name == "lock" ? shop.path("coredata.lock") : try input(placeholder)
      words += ["--\(option.name)", value]
      inputs.append(value)
    }
    return (words, inputs)
  }

  /// The paths that all name an input, or something that belongs to it.
  private func spellings(of input: String) throws -> [String] {
    let url = URL(fileURLWithPath: input)
    let (folder, name) = (url.deletingLastPathComponent(), url.lastPathComponent)
    let link = shop.path("link-\(name)")
    // The links of another command line are there.
    if !FileManager.default.fileExists(atPath: link) {
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: input)
    }
    var all = [input, folder.path + "/./" + name, folder.path + "/../\(folder.lastPathComponent)//" + name, link]
    var isFolder: ObjCBool = false
    _ = FileManager.default.fileExists(atPath: input, isDirectory: &isFolder)
    if isFolder.boolValue {
      all += [input + "/inside", input + "/new/inside"]
      if name == "Fixtures" {
        let hard = shop.path("hard")
        if !FileManager.default.fileExists(atPath: hard) {
          try FileManager.default.linkItem(atPath: input + "/Shipped.sqlite", toPath: hard)
        }
        all += [input + "/Shipped.sqlite", input + "/Shipped.sqlite-wal", shop.path("Other.sqlite"), hard]
        all += [shop.path("Other.sqlite-wal")]
      } else if name.hasSuffix(".xcdatamodeld") {
        all += [input + "/Pictures.xcdatamodel/contents", input + "/.xccurrentversion"]
      }
    } else {
      let hard = shop.path("hard-\(name)")
      if !FileManager.default.fileExists(atPath: hard) { try FileManager.default.linkItem(atPath: input, toPath: hard) }
      all += ["-wal", "-shm", "-journal"].map { input + $0 } + [hard]
      if name.hasSuffix(".sqlite") {
        all += [
          shop.path(".Pictures_SUPPORT"), shop.path(".Pictures_SUPPORT/_EXTERNAL_DATA/x"),
          shop.path(".Pictures.sqlite-migration/x"), input.replacing("Pictures.sqlite", with: "pictures.SQLITE-wal"),
        ]
      }
    }
    return all
  }

  private struct State: Equatable {
    let files: [String: Data]
  }

  private func state() throws -> State {
    var files: [String: Data] = [:]
    for path in try shop.files() { files[path] = FileManager.default.contents(atPath: shop.path(path)) }
    return State(files: files)
  }

  @Test("No command writes to a file that it reads, however it is spelled", arguments: CommandLineTool.commandNames)
  func inputs(name: String) throws {
    let command = try #require(CommandLineTool.specification.commands.first { $0.path.joined(separator: " ") == name })
    let (words, inputs) = try line(command)
    let options = CommandLineTool.specification.options(of: command).filter {
      $0.role == .output || $0.role == .outputDirectory
    }
    let outputs = options.map { ["--\($0.name)"] } + command.positionals.filter { $0.role == .output }.map { _ in [] }
    let paths = try Set(inputs.flatMap(spellings)).sorted()
    let before = try state()
    for output in outputs {
      for path in paths {
        // An option is given beside an output of its own among the arguments.
        let result = output.isEmpty ? path : shop.path("result")
        let line = command.path + positionals(command, with: result, words) + output + (output.isEmpty ? [] : [path])
        let run = CommandRun(line)
        #expect(run.status == .usage, "\(line): \(run.output)\(run.error)")
        #expect(run.error.contains("Nothing was changed."), "\(line): \(run.error)")
      }
    }
    #expect(try state() == before)
  }

  /// The words after the command, with an output in its place among the arguments if the command has one.
  private func positionals(_ command: CommandSpecification, with path: String, _ words: [String]) -> [String] {
    var rest = Array(words.dropFirst(command.path.count))
    if let position = command.positionals.firstIndex(where: { $0.role == .output }) { rest.insert(path, at: position) }
    return rest
  }

  @Test("Two outputs are not one file")
  func twoOutputs() throws {
    let run = CommandRun(
      "migrate", "rehearse", shop.model, "--report", shop.path("r.html"), "-o", shop.path("./r.html"))
    #expect(run.status == .usage && run.error.contains("name the same file"), "\(run.error)")
  }

  @Test("A result may be beside the inputs, and a directory for files may contain them")
  func allowed() throws {
    for name in ["out.txt", "Pictures.txt", "Fixtures.txt"] {
      #expect(CommandRun("model", "show", shop.model, "-o", shop.path(name)).status == .done)
    }
    #expect(CommandRun("model", "generate", shop.model, "-o", shop.url.path).status == .done)
    #expect(CommandRun("store", "copy", shop.store, shop.path("Pictures copy.sqlite")).status == .done)
    #expect(CommandRun("store", "export", shop.store, "-o", "/dev/null").status == .done)
  }

  /// A value that is no path. A new command or option must be put here, or declare what it does with the path.
  private static let noPaths: Set<String> = [
    "V", "E", "NAME", "CODE[:Entity[.property]]", "K,-K", "K,K", "KEY", "TOKEN|NUMBER|DATE", "A",
  ]
  private static let arguments: [String: PathRole] = [
    "STORE": .input, "MODEL": .input, "A": .input, "B": .input, "FILE": .input, "PATH": .input, "DIR": .input,
    "BACKUP": .input, "TO": .output, "store create STORE": .output, "CODE": .none, "SHELL": .none,
    "ENTITY": .none, "PREDICATE": .none, "ID": .none, "KEY=VALUE": .none,
  ]

  @Test("Every option and argument says what it does with its path")
  func roles() {
    for command in CommandLineTool.specification.commands {
      let name = command.path.joined(separator: " ")
      for option in CommandLineTool.specification.options(of: command) {
        if case .text(let placeholder) = option.value {
          #expect(Self.noPaths.contains(placeholder), "\(name) --\(option.name) \(placeholder): is it a path?")
        }
        if case .path(_, let role) = option.value {
          let writes = ["output", "report", "backup", "keep", "directory"].contains(option.name)
          #expect(role.isWritten == writes || option.name == "file", "\(name) --\(option.name)")
        }
      }
      for place in command.positionals {
        let wanted = Self.arguments["\(name) \(place.name)"] ?? Self.arguments[place.name]
        #expect(wanted == place.role, "\(name) \(place.name)")
      }
    }
  }
}

extension CommandLineTool {
  /// The words of all commands that read files.
  static var commandNames: [String] {
    specification.commands.filter { command in
      command.positionals.contains { $0.role.isRead }
    }.map { $0.path.joined(separator: " ") }
  }
}
