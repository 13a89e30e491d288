// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

/// A directory for the stores of an article, and what its errors say.
struct GuideDirectory {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  func file(_ name: String) -> URL { directory.file(name) }

  /// Compares what an error says with the text of an article, in which lines are broken.
  func check(_ error: (any Error)?, _ text: String, _ location: SourceLocation = #_sourceLocation) {
    check([error.map { "\($0)" } ?? "no error"], text, location)
  }

  /// Compares words with the text of an article: paths, modules and plans have the names of the example there, and `…`
  /// stands for any text.
  func check(_ words: [String], _ text: String, _ location: SourceLocation = #_sourceLocation) {
    let words = words.joined(separator: " ").replacingOccurrences(of: directory.url.path, with: "/data")
      .replacing(#/\w+\.GuideItems\./#, with: "Shop.").replacing(#/Plan<\w+, \w+>/#, with: "ShopPlan")
    let parts = text.replacingOccurrences(of: "\n", with: " ").components(separatedBy: "…")
    var rest = Substring(words)
    var fits = rest.hasPrefix(parts[0]) && words.hasSuffix(parts[parts.count - 1])
    for part in parts where fits && !part.isEmpty {
      guard let found = rest.firstRange(of: part) else {
        fits = false
        break
      }
      rest = rest[found.upperBound...]
    }
    #expect(fits, "The words are: \(words)", sourceLocation: location)
  }

  /// Makes a container for the models of a version.
  func container(_ version: any VersionedSchema.Type, at url: URL) throws -> ModelContainer {
    try ModelContainer(for: Schema(versionedSchema: version), configurations: ModelConfiguration(url: url))
  }
}
