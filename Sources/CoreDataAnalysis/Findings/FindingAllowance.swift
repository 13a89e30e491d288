// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Findings of a code that somebody allows: everywhere, of one entity, or of one property.
///
/// A finding that is allowed is information. One that tells of a migration that would fail cannot be allowed.
public struct FindingAllowance: Hashable, Sendable {
  /// Where an allowance stands.
  public enum Origin: Hashable, Sendable {
    /// In the code of a program.
    case program
    /// In the user info of the model, under `coredata.allow`.
    case model
    /// In an option of a command, as `--allow DS102:Order.name`.
    case option(String)
    /// In a line of a file.
    case file(path: String, line: Int)
  }

  /// The code of the findings.
  public let code: FindingCode
  /// The entity by its name before or after the step; nil for all entities.
  public let entity: String?
  /// The property by its name before or after the step; nil for all of the entity, and the entity itself.
  public let property: String?
  /// Why the findings are allowed.
  public let reason: String?
  /// Where the allowance stands.
  public let origin: Origin

  /// Allows findings.
  public init(
    _ code: FindingCode, entity: String? = nil, property: String? = nil, reason: String? = nil,
    origin: Origin = .program
  ) {
    self.code = code
    self.entity = entity
    self.property = entity == nil ? nil : property
    self.reason = reason
    self.origin = origin
  }

  /// Reads `CODE`, `CODE:Entity` or `CODE:Entity.property`.
  ///
  /// - Throws: `Unreadable`.
  init(text: Substring, reason: String?, origin: Origin) throws {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let code = FindingCode(text: String(first)) else {
      throw Unreadable(description: FindingCode.unknown(String(parts.first ?? "")))
    }
    guard parts.count == 2 else {
      self.init(code, reason: reason, origin: origin)
      return
    }
    let names = parts[1].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(names.count), !names.contains(where: { $0.isEmpty || $0.contains(where: \.isWhitespace) })
    else {
      throw Unreadable(
        description:
          "\"\(ShortText.of(text))\" is no place of findings. Expected CODE, CODE:Entity or CODE:Entity.property.")
    }
    self.init(code, entity: names[0], property: names.count == 2 ? names[1] : nil, reason: reason, origin: origin)
  }

  /// Why a text is no allowance.
  struct Unreadable: Error {
    let description: String
  }

  /// `DS102:Order.name`
  public var text: String {
    guard let entity else { return code.rawValue }
    return "\(code.rawValue):\([entity, property].compactMap { $0 }.joined(separator: "."))"
  }

  /// Whether the allowance is for a finding.
  public func covers(_ finding: Finding) -> Bool {
    code == finding.code && (entity == nil || entity == finding.entity || entity == finding.sourceEntity)
      && (property == nil || property == finding.property || property == finding.sourceProperty)
  }

  /// Who allows: `--allow DS102:Order.name`, `Losses.txt, line 3`, `coredata.allow`; nil for a program.
  public var author: String? {
    switch origin {
    case .program: nil
    case .model: "coredata.allow"
    case .option(let words): words
    case .file(let path, let line): "\(path.split(separator: "/").last.map(String.init) ?? path), line \(line)"
    }
  }

  /// `allowed by Losses.txt, line 3: moved to the archive`
  public var words: String {
    let start = author.map { "allowed by \($0)" } ?? "allowed"
    return reason.map { "\(start): \($0)" } ?? start
  }
}

/// Texts from elsewhere, short enough for a sentence.
enum ShortText {
  static func of(_ text: some StringProtocol) -> String {
    text.count > 60 ? "\(text.prefix(60))…" : String(text)
  }
}
