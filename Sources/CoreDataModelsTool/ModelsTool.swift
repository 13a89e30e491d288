// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSourceCode
import Foundation
import SwiftSourceScanning

/// Compiles models and mapping models, generates classes and translates sources for a build.
///
/// Each command gets the names of its output files, which the plug-in has announced to the package manager. An
/// unchanged file is not written, so that nothing is recompiled because of it.
enum ModelsTool {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func run(_ arguments: [String]) throws {
    switch arguments.first {
    case "model": try compileModel(Arguments(arguments.dropFirst()))
    case "mapping": try compileMapping(Arguments(arguments.dropFirst()))
    case "sources": try translate(Arguments(arguments.dropFirst()))
    default: throw Failure(description: "The plug-in CoreDataModels runs this tool; it has no other use.")
    }
  }

  static func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  /// The options and files of a command: `--name value`, then files.
  private struct Arguments {
    private var options: [String: [String]] = [:]
    private(set) var files: [URL] = []

    init(_ arguments: ArraySlice<String>) {
      var rest = arguments
      while let first = rest.popFirst() {
        if first.hasPrefix("--"), let value = rest.popFirst() {
          options[String(first.dropFirst(2)), default: []].append(value)
        } else {
          files.append(URL(fileURLWithPath: first))
        }
      }
    }

    func required(_ name: String) throws -> String {
      guard let value = options[name]?.first else { throw Failure(description: "--\(name) is missing.") }
      return value
    }

    func urls(_ name: String) -> [URL] { (options[name] ?? []).map { URL(fileURLWithPath: $0) } }

    func file() throws -> URL {
      guard let file = files.first else { throw Failure(description: "The file is missing.") }
      return file
    }
  }

  // MARK: Models

  private static func compileModel(_ arguments: Arguments) throws {
    let bundle = try ModelBundle(contentsOf: arguments.file())
    if let bad = bundle.unreadable.first { throw bad.error }
    for version in bundle.versions { try validate(version, of: bundle) }
    let current = try current(bundle)
    for warning in bundle.warnings { complain("\(bundle.url.path):1:1: warning: \(warning)") }
    let output = URL(fileURLWithPath: try arguments.required("output"))
    // The directory belongs to this command, so an old one can be removed.
    if FileManager.default.fileExists(atPath: output.path) { try FileManager.default.removeItem(at: output) }
    try ModelBundle.writeCompiled(
      bundle.versions, current: current.name, module: arguments.required("module"), to: output)
    var options = GeneratedClasses.Options()
    let files = try sources(arguments.urls("source"))
    let translator = Translator(files: files, models: [], hasResources: true)
    options.swiftNames = translator.objectiveCNames
    options.members = translator.generatedMembers
    for file in files { options.swiftNames.merge(ObjectiveCNamesFile.names(in: file)) { known, _ in known } }
    let classes = GeneratedClasses(current.document, origin: bundle.url.lastPathComponent, options: options)
    for remark in classes.remarks { complain("\(bundle.url.path):1:1: warning: \(remark)") }
    var text = GeneratedClasses.mark(bundle.url.lastPathComponent) + "\n\nimport CoreData\n"
    for file in classes.files {
      text += file.text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(3).joined(separator: "\n")
    }
    try write(Array(text.utf8), to: URL(fileURLWithPath: arguments.required("classes")))
  }

  private static func validate(_ version: ModelBundle.Version, of bundle: ModelBundle) throws {
    do {
      try version.document.validate()
    } catch let error as ModelFileError {
      let isDirectory = bundle.url.pathExtension == "xcdatamodeld"
      throw error.inFile(
        isDirectory ? bundle.url.appendingPathComponent("\(version.name).xcdatamodel/contents") : bundle.url)
    }
  }

  private static func current(_ bundle: ModelBundle) throws -> ModelBundle.Version {
    let versions = bundle.versions
    if let name = bundle.currentVersionName, let version = versions.first(where: { $0.name == name }) { return version }
    guard let only = versions.first, versions.count == 1 else {
      throw Failure(
        description:
          "\(bundle.url.path):1:1: error: None of the versions is marked as current. Choose one in Xcode, or write "
          + "its name into .xccurrentversion.")
    }
    return only
  }

  // MARK: Mapping models

  /// Compiles a mapping model, with the hashes of the versions that it names if a model has them: the hashes in the
  /// file become outdated, and a file in text form has none. A compiled mapping model is copied.
  private static func compileMapping(_ arguments: Arguments) throws {
    let file = try arguments.file()
    let output = URL(fileURLWithPath: try arguments.required("output"))
    var mapping = try MappingDocument(contentsOf: file)
    if file.pathExtension == "cdm" { return try write(Array(try Data(contentsOf: file)), to: output) }
    if let source = mapping.sourceVersionName, let destination = mapping.destinationVersionName {
      for model in arguments.urls("model") {
        let versions = try ModelBundle(contentsOf: model).versions
        guard let old = versions.first(where: { $0.name == source }),
          let new = versions.first(where: { $0.name == destination })
        else { continue }
        mapping = try MappingDocument(contentsOf: file, source: old.document, destination: new.document)
        break
      }
    }
    if mapping.lacksModels { throw try missingVersions(of: mapping, file, arguments) }
    try mapping.writeCompiled(to: output)
  }

  /// Returns the error for a mapping model whose file contains no copies of its versions, if none of the target's
  /// models has them either.
  private static func missingVersions(
    of mapping: MappingDocument, _ file: URL, _ arguments: Arguments
  ) throws -> ModelFileError {
    let known = try arguments.urls("model").map { model -> String in
      let names = try ModelBundle(contentsOf: model).names.map { "\"\($0)\"" }
      return "\(model.lastPathComponent) has \(names.joined(separator: ", "))"
    }
    let models = known.isEmpty ? "The target has no model." : known.joined(separator: "; ") + "."
    guard let source = mapping.sourceVersionName, let destination = mapping.destinationVersionName else {
      return ModelFileError(
        .missingContents, found: "The mapping model does not name its versions.",
        advice: "Begin it with: versions \"A\" -> \"B\". \(models)", file: file)
    }
    return ModelFileError(
      .unknownVersion, found: "No model of the target has both versions \"\(source)\" and \"\(destination)\".",
      advice: "Correct the line that begins with \"versions\". \(models)", file: file)
  }

  // MARK: Sources

  private static func translate(_ arguments: Arguments) throws {
    let models = try arguments.urls("model").map { try current(ModelBundle(contentsOf: $0)).document }
    let files = try sources(arguments.files)
    let hasResources = try arguments.required("resources") == "yes"
    let translator = Translator(files: files, models: models, hasResources: hasResources)
    let outputs = arguments.urls("output")
    guard outputs.count == files.count else { throw Failure(description: "Each source needs an --output.") }
    for (file, output) in zip(files, outputs) {
      let translation = translator.translate(file)
      let messages = translation.messages.enumerated().map { number, message in
        "\n#sourceLocation(file: \(quoted(file.path)), line: \(message.line))\n" + directive(message, number)
      }
      let location = "#sourceLocation(file: \(quoted(file.path)), line: 1)\n"
      try write(
        Array(location.utf8) + translation.bytes + Array((messages.joined() + (messages.isEmpty ? "" : "\n")).utf8),
        to: output)
    }
    let names = try arguments.required("names")
    try write(
      Array(ObjectiveCNamesFile.text(translator.objectiveCNames, isPort: false).utf8), to: URL(fileURLWithPath: names))
  }

  /// Returns a line with which the compiler reports a message together with its own messages: `#error` would hide type
  /// errors.
  private static func directive(_ message: SourceMessage, _ number: Int) -> String {
    let text = quoted(message.text)
    guard message.severity == .error else { return "#warning(\(text))" }
    return "@available(*, unavailable, message: \(text)) private func untranslated\(number)() {}; "
      + "private let use\(number)OfUntranslated: Void = untranslated\(number)()"
  }

  private static func sources(_ urls: [URL]) throws -> [SourceFile] {
    try urls.map { SourceFile(path: $0.path, bytes: Array(try Data(contentsOf: $0))) }
  }

  private static func quoted(_ path: String) -> String {
    "\"" + path.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
  }

  private static func write(_ bytes: [UInt8], to url: URL) throws {
    let data = Data(bytes)
    if FileManager.default.contents(atPath: url.path) == data { return }
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url, options: .atomic)
  }
}
