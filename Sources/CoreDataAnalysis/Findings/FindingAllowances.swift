// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// A list of allowances, of which the first match applies.
///
/// A file of allowances is UTF-8 text. Each line has the code, the place where it is allowed, and a reason, which is
/// required:
///
///     # What version 5 drops.
///     DS102:Order.note    copied to the archive in 2023
///     DS101:Legacy        nobody reads it since version 3
public struct FindingAllowances: Hashable, Sendable, ExpressibleByArrayLiteral {
  /// The allowances.
  public var items: [FindingAllowance]

  /// Creates a list.
  public init(_ items: [FindingAllowance] = []) {
    self.items = items
  }

  /// Creates a list.
  public init(arrayLiteral elements: FindingAllowance...) {
    self.init(elements)
  }

  /// An allowance of all losses.
  public static var losses: FindingAllowances { losses(origin: .program) }

  /// Returns an allowance of all losses, like `--allow-loss`.
  package static func losses(origin: FindingAllowance.Origin) -> FindingAllowances {
    FindingAllowances(FindingCode.allCases.filter(\.isLoss).map { FindingAllowance($0, origin: origin) })
  }

  /// Reads a file of allowances.
  ///
  /// - Throws: `AllowanceProblem` for the first invalid line, or if the file cannot be read.
  public init(contentsOf url: URL) throws {
    let data: Data
    do {
      data = try ModelFile.read(url)
    } catch let error as ModelFileError {
      throw AllowanceProblem(path: url.path, line: nil, reason: "\(error.found) \(Self.expected)")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw AllowanceProblem(path: url.path, line: nil, reason: "The file is not UTF-8 text. \(Self.expected)")
    }
    items = []
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (position, line) in lines.enumerated() {
      do {
        if let item = try Self.item(line, .file(path: url.path, line: position + 1)) { items.append(item) }
      } catch let problem as FindingAllowance.Unreadable {
        throw AllowanceProblem(path: url.path, line: position + 1, reason: problem.description)
      }
    }
  }

  private static let expected = "Expected a text with lines of the form: CODE:Entity.property  reason."

  /// Returns the allowance in a line; nil for an empty line or a comment.
  private static func item(_ line: Substring, _ origin: FindingAllowance.Origin) throws -> FindingAllowance? {
    let content = line.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !content.isEmpty, !content.hasPrefix("#") else { return nil }
    let place = content.prefix { !$0.isWhitespace }
    let reason = content.dropFirst(place.count).trimmingCharacters(in: .whitespaces)
    let allowance = try FindingAllowance(text: place, reason: reason, origin: origin)
    guard !reason.isEmpty else {
      throw FindingAllowance.Unreadable(
        description: "\(ShortText.of(place)) has no reason. Expected a reason after it: CODE:Entity.property  reason.")
    }
    return allowance
  }

  /// Reads the value of an option: `CODE`, `CODE:Entity` or `CODE:Entity.property`.
  ///
  /// - Throws: `AllowanceProblem`.
  package static func item(ofOption name: String, _ text: String) throws -> FindingAllowance {
    do {
      return try FindingAllowance(text: text[...], reason: nil, origin: .option("\(name) \(text)"))
    } catch let problem as FindingAllowance.Unreadable {
      throw AllowanceProblem(path: name, line: nil, reason: problem.description)
    }
  }

  /// Returns the first allowance that covers a finding; nil if there is none.
  public func allowance(of finding: Finding) -> FindingAllowance? { items.first { $0.covers(finding) } }

  /// Returns the allowances that match none of the findings.
  public func unmatched(in findings: [Finding]) -> [FindingAllowance] {
    items.filter { item in !findings.contains(where: item.covers) }
  }

  /// Returns the allowances that match only findings of a migration that would fail, which cannot be allowed.
  public func powerless(in findings: [Finding]) -> [FindingAllowance] {
    items.filter { item in
      let covered = findings.filter(item.covers)
      return !covered.isEmpty && covered.allSatisfy(\.isFailure)
    }
  }

  /// Returns the finding, as information if an allowance covers it.
  func applied(to finding: Finding) -> Finding { finding.allowed(by: allowance(of: finding)) }

  /// The losses that these allowances permit.
  public var losses: AllowedLosses {
    let tables = items.filter { $0.code == .otherTableDropped }.map(\.entity)
    return AllowedLosses(
      items: items.compactMap { item in
        Self.contents(of: item.code).map { .init(contents: $0, entity: item.entity, property: item.property) }
      }, tables: tables.contains(nil) ? nil : Set(tables.compactMap { $0 }))
  }

  /// Returns the kinds of content whose loss an allowance of a code permits; nil for other codes.
  private static func contents(of code: FindingCode) -> Set<AllowedLosses.Content>? {
    switch code {
    case .entityRemoved: [.rows]
    case .attributeRemoved, .storedBecomesTransient, .externalDataDropped: [.values]
    case .relationshipRemoved, .toManyBecomesToOne, .destinationChanged: [.links]
    case .orderLost: [.order]
    case .numberNarrowed, .newRequiredAttribute, .optionalBecomesRequired, .uniquenessAdded,
      .validationTightened, .minimumCountRaised, .probableRename, .unclearRename, .notInferable, .hierarchiesMerged,
      .shippedVersionEdited, .noPath, .staleMapping, .equalVersions, .currentMovedBack, .stagesOutOfOrder,
      .missingInverse, .reservedName, .insecureTransformer, .requiredPair, .stepNeedsCopy, .littleDiskSpace,
      .unmergedLog, .noModelInStore, .otherTableDropped:
      nil
    }
  }
}

/// An error in a file or an option with allowances.
public struct AllowanceProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the file, or the name of the option.
  public let path: String
  /// The line number in the file, from 1.
  public let line: Int?
  /// What was found and what was expected, in sentences.
  public let reason: String

  /// The file, the line and the reason.
  public var description: String { "\(path)\(line.map { ", line \($0)" } ?? ""): \(reason)" }
}

/// Permission for findings with a code: all of them, or those of one entity or property.
///
/// An allowed finding becomes information. Findings of a migration that would fail cannot be allowed.
public struct FindingAllowance: Hashable, Sendable {
  /// The source of an allowance.
  public enum Origin: Hashable, Sendable {
    /// The code of a program.
    case program
    /// The user info of the model, under `coredata.allow`.
    case model
    /// A command's option, such as `--allow DS102:Order.name`.
    case option(String)
    /// A line of a file.
    case file(path: String, line: Int)
  }

  /// The code of the findings.
  public let code: FindingCode
  /// The entity's name before or after the step; nil for all entities.
  public let entity: String?
  /// The property's name before or after the step; nil for the entity and all its properties.
  public let property: String?
  /// The reason for the allowance.
  public let reason: String?
  /// The source of the allowance.
  public let origin: Origin

  /// Creates an allowance.
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
          "\"\(ShortText.of(text))\" does not name findings. Expected CODE, CODE:Entity or CODE:Entity.property.")
    }
    self.init(code, entity: names[0], property: names.count == 2 ? names[1] : nil, reason: reason, origin: origin)
  }

  /// The reason an allowance cannot be parsed.
  struct Unreadable: Error {
    let description: String
  }

  /// The allowance as text, such as `DS102:Order.name`.
  public var text: String {
    guard let entity else { return code.rawValue }
    return "\(code.rawValue):\([entity, property].compactMap { $0 }.joined(separator: "."))"
  }

  /// Whether the allowance covers a finding.
  public func covers(_ finding: Finding) -> Bool {
    code == finding.code && (entity == nil || entity == finding.entity || entity == finding.sourceEntity)
      && (property == nil || property == finding.property || property == finding.sourceProperty)
  }

  /// The source of the allowance as text: `--allow DS102:Order.name`, `Losses.txt, line 3`, `coredata.allow`; nil for a
  /// program.
  public var author: String? {
    switch origin {
    case .program: nil
    case .model: "coredata.allow"
    case .option(let words): words
    case .file(let path, let line): "\(path.split(separator: "/").last.map(String.init) ?? path), line \(line)"
    }
  }

  /// The source and the reason, such as `allowed by Losses.txt, line 3: moved to the archive`.
  public var words: String {
    let start = author.map { "allowed by \($0)" } ?? "allowed"
    return reason.map { "\(start): \($0)" } ?? start
  }
}

/// Shortens text from files and options for use in a sentence.
enum ShortText {
  static func of(_ text: some StringProtocol) -> String {
    text.count > 60 ? "\(text.prefix(60))…" : String(text)
  }
}
