// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// Options of commands that check a model.
extension OptionSpecification {
  static let level = OptionSpecification(
    "level", .pair("CODE", oneOf: ["off", "warn", "error"]), repeats: true,
    summary: "Give the findings with a code another level, or leave them out.")
  static let lockFile = OptionSpecification(
    "lock", .path("FILE", .input),
    summary: "The lock of shipped versions (default: coredata.lock beside the model, if there is one).")
}

extension CommandInvocation {
  /// Returns the options of a check from the command line.
  ///
  /// - Throws: `CommandFailure` for an unknown code or an allowance that cannot be read; the errors of reading a lock.
  func lintOptions(for model: ModelArgument) throws -> ModelLint.Options {
    var lint = ModelLint.Options()
    lint.mappings = mappings
    lint.allowances = try allowances()
    for (text, word) in arguments.pairs("level") {
      guard let code = FindingCode(text: text) else { throw CommandFailure(.usage, FindingCode.unknown(text)) }
      lint.levels[code] = .some(Finding.Level(rawValue: word))
    }
    let file = arguments.value("lock").map { URL(fileURLWithPath: $0) }
    let place = file ?? Self.defaultLock(of: model)
    if file != nil || FileManager.default.fileExists(atPath: place.path) {
      let name = model.bundleURL.lastPathComponent
      lint.lock = try VersionLock(contentsOf: place, model: name)
      if lint.lock == nil { try checkUnlocked(model, name, place, isNamed: file != nil) }
    }
    return lint
  }

  /// Throws if a lock has the model under a former name, or if a lock given on the command line does not have it.
  /// Otherwise reports that the model is not locked.
  private func checkUnlocked(_ model: ModelArgument, _ name: String, _ lock: URL, isNamed: Bool) throws {
    if let former = try VersionLock.formerName(in: lock, of: model.modelVersions()) {
      throw CommandFailure(
        .invalidModel,
        "\(lock.path) has versions of \(name) under the name \(former), so that they would not be checked. Give the model "
          + "that name in the lock, or lock it again with coredata model lock.")
    }
    guard !isNamed else {
      throw CommandFailure(
        .invalidModel, "\(lock.path) has no model \(name). Lock it with coredata model lock \(ShellWord.quoted(name)).")
    }
    remark("\(lock.lastPathComponent) does not have \(name), which is not locked.")
  }

  /// Returns the lock of a model if the command line names none.
  static func defaultLock(of model: ModelArgument) -> URL {
    model.bundleURL.deletingLastPathComponent().appendingPathComponent(VersionLock.defaultName)
  }
}
