// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSourceCode
import Foundation
import SwiftSourceScanning

/// Translates Swift sources, as the plug-in does for a build and `coredata port` in place: a build's copy has as many lines as
/// its source, text stays text, and a second port changes nothing.
struct PortRunner: FuzzRunner {
  /// The file of an input. It has no extension, so that nothing takes the corpus for sources of the project.
  private static let file = "source"

  private let kept: [[UInt8]]
  private let models: [ModelDocument]

  init(_ lab: FuzzLab) throws {
    kept = try lab.kept(.port).compactMap { $0.files[Self.file].map { [UInt8]($0) } }
    models = Array(try FuzzModels.documents().prefix(2))
    guard !kept.isEmpty else { throw FuzzOptions.Mistake("There are no sources in \(lab.corpus.path)/port.") }
  }

  /// Marks inputs that are complete declarations.
  private static let mark = "whole"

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var bytes = random.pick(kept)
    if random.oneIn(3) {
      for _ in 0..<random.small(4) { bytes = SourceMutation.extend(bytes, &random) }
      return FuzzInput(files: [Self.file: Data(bytes), Self.mark: Data()])
    }
    for _ in 0..<random.small(6) {
      bytes = SourceMutation.damage(bytes, with: random.pick(kept), &random)
    }
    if random.oneIn(5) { bytes = [UInt8](ByteMutation.damage(Data(bytes), with: Data(random.pick(kept)), &random)) }
    return FuzzInput(files: [Self.file: Data(bytes)])
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let bytes = [UInt8](input.files[Self.file] ?? Data())
    // The tool leaves files alone that are in another encoding.
    let isText = String(validating: bytes, as: UTF8.self) != nil
    let hasResources = random.oneIn(2)
    let file = SourceFile(path: "A.swift", bytes: bytes)
    let files = random.oneIn(3) ? [file, SourceFile(path: "B.swift", bytes: random.pick(kept))] : [file]

    let build = Translator(files: files, models: models, hasResources: hasResources).translate(file)
    let (before, after) = (Self.lineCount(bytes), Self.lineCount(build.bytes))
    guard before == after else { throw Broken("A build's copy has \(after) lines, its source \(before).") }
    try check(build, lines: before, isText)

    let moved = MovedOverrides.applied(to: files)
    if isText, moved.contains(where: { String(validating: $0.bytes, as: UTF8.self) == nil }) {
      throw Broken("A text with moved members is no text.")
    }
    if input.files[Self.mark] != nil, MovedOverrides.applied(to: moved).map(\.bytes) != moved.map(\.bytes) {
      throw Broken("Members that were moved are moved again.")
    }

    let translator = Translator(files: files, models: models, hasResources: hasResources, purpose: .port)
    let port = translator.translate(file)
    _ = ObjectiveCNamesFile.text(translator.objectiveCNames, isPort: true)
    try check(port, lines: before, isText)
    guard port.bytes != bytes else { return "unchanged \(min(build.messages.count, 3))" }
    let ported = SourceFile(path: "A.swift", bytes: port.bytes)
    let again = Translator(
      files: [ported] + files.dropFirst(), models: models, hasResources: hasResources, purpose: .port
    ).translate(ported)
    if input.files[Self.mark] != nil, again.bytes != port.bytes {
      throw Broken("A second port changes the source again.")
    }
    return "ported \(min(build.messages.count, 3)) \(min(port.messages.count, 3))"
  }

  private func check(_ translation: Translator.Translation, lines: Int, _ isText: Bool) throws {
    guard !isText || String(validating: translation.bytes, as: UTF8.self) != nil else {
      throw Broken("The translation of a text is no text.")
    }
    for message in translation.messages {
      guard message.line >= 1, message.line <= lines, message.column >= 1, !message.text.isEmpty else {
        throw Broken("A message is about a place that the source does not have: \(message)")
      }
    }
  }

  private static func lineCount(_ bytes: [UInt8]) -> Int { bytes.reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } }
}
