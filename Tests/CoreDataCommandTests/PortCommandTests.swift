// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata port")
struct PortCommandTests {
  private let folder: Workshop

  init() throws {
    folder = try Workshop()
  }

  private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  @Test("A dry run shows a diff and writes nothing; then the files are written once and for good")
  func port() throws {
    let source = try folder.write("@objc(WSPart) class Part: NSObject {}\n", to: "App/Model/Part.swift")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: source.path)
    _ = try folder.write("let x = 1\n", to: "App/Other.swift")
    let app = folder.path("App")
    let dry = CommandRun(["port", app, "--dry-run"])
    #expect(dry.status == .done)
    #expect(dry.output.hasPrefix("--- a/Model/Part.swift\n+++ b/Model/Part.swift\n@@ -1 +1,4 @@\n-@objc(WSPart) class"))
    #expect(dry.output.contains("+++ b/ObjectiveCNames.swift\n@@ -0,0 +1,"))
    #expect(dry.output.hasSuffix("3 files, 2 to be changed.\n"))
    #expect(try text(source) == "@objc(WSPart) class Part: NSObject {}\n")

    let run = CommandRun(["port", app])
    #expect(run.status == .done)
    #expect(
      run.output == "changed  Model/Part.swift\nadded    ObjectiveCNames.swift\n3 files, 2 changed.\n")
    #expect(try text(source) == "#if canImport(ObjectiveC)\n@objc(WSPart)\n#endif\nclass Part: NSObject {}\n")
    let attributes = try FileManager.default.attributesOfItem(atPath: source.path)
    #expect(attributes[.posixPermissions] as? Int == 0o640)

    let names = folder.url.appendingPathComponent("App/ObjectiveCNames.swift")
    let known = try text(names)
    #expect(CommandRun(["port", app]).output == "3 files, nothing to change.\n")
    _ = try folder.write("@objc(WSBolt) class Bolt: NSObject {}\n", to: "App/Bolt.swift")
    #expect(CommandRun(["port", app]).status == .done)
    #expect(try text(names) != known)
    #expect(try text(names).contains("\"WSPart\": Part.self") && text(names).contains("\"WSBolt\": Bolt.self"))
  }

  @Test("In a package with a model, bundles are the package's; in an app they are left")
  func bundles() throws {
    let lookup = "let url = Bundle.main.url(forResource: \"M\", withExtension: \"momd\")\n"
    let app = try folder.write(lookup, to: "App/A.swift")
    #expect(CommandRun(["port", folder.path("App")]).status == .done)
    #expect(try text(app) == lookup)
    _ = try folder.write("", to: "Package/Package.swift")
    let library = try folder.write(lookup, to: "Package/Sources/Library/A.swift")
    let other = try folder.write(lookup, to: "Package/Sources/Other/A.swift")
    try FileManager.default.copyItem(
      at: URL(fileURLWithPath: folder.model),
      to: folder.url.appendingPathComponent("Package/Sources/Library/Shop.xcdatamodeld"))
    #expect(CommandRun(["port", folder.path("Package/Sources/Library")]).status == .done)
    #expect(try text(library).contains("Bundle.module.url"))
    #expect(CommandRun(["port", folder.path("Package")]).status == .done)
    #expect(try text(other) == lookup)
  }

  @Test("What is left is listed with its line in the new file, and key paths are checked against models")
  func left() throws {
    _ = try folder.write(
      "@objc(A) class A {}\nlet k = #keyPath(Customer.surname)\nf(#selector(A.b))\n", to: "App/A.swift")
    let run = CommandRun(["port", folder.path("App"), "--model", folder.model])
    #expect(run.status == .no)
    #expect(run.output.contains("To do by hand\n"))
    #expect(run.output.contains("A.swift:6:3: error: #selector needs Objective-C."))
    let json = CommandRun(["port", folder.path("App"), "--format", "json"])
    #expect(json.status == .no)
    #expect(json.output.contains("\"coredata.port/1\"") && json.output.contains("\"line\": 6"))
  }

  @Test("What is no source of the app is left alone, and a wrong directory is an error")
  func strangers() throws {
    let source = try folder.write("@objc class A {}\n", to: "Elsewhere/A.swift")
    _ = try folder.write("let x = 1\n", to: "App/X.swift")
    let pod = try folder.write("@objc class P {}\n", to: "App/Pods/P.swift")
    let latin = folder.url.appendingPathComponent("App/Latin.swift")
    try Data([0x40, 0x6F, 0x62, 0x6A, 0x63, 0x20, 0xE4, 0x0A]).write(to: latin)
    try FileManager.default.createSymbolicLink(
      at: folder.url.appendingPathComponent("App/Link"), withDestinationURL: source.deletingLastPathComponent())
    #expect(mkfifo(folder.path("App/Pipe.swift"), 0o600) == 0)
    let run = CommandRun(["port", folder.path("App")])
    #expect(run.status == .done)
    #expect(run.output == "1 file, nothing to change.\n")
    #expect(run.error.contains("Link is a symbolic link and is not followed."))
    #expect(run.error.contains("Latin.swift is not in UTF-8 and is left as it is."))
    #expect(try text(source) == "@objc class A {}\n" && text(pod) == "@objc class P {}\n")
    #expect(CommandRun(["port", folder.path("None")]).status == .usage)
    #expect(CommandRun(["port", source.path]).status == .usage)
    #expect(CommandRun(["port"]).status == .usage)
  }
}
