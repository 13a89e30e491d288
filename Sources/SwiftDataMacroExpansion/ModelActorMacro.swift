// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

extension MacroExpansion {
  /// Expands `@ModelActor`.
  mutating func expandModelActor(_ request: ExpansionRequest, role: String) {
    guard let declaration = request.declSyntax else { return }
    let type = TypeHead(declaration, in: request.lexicalContext)
    switch role {
    case "member":
      guard type.keyword == "actor" else {
        return report(
          "@ModelActor can only be attached to an actor; '\(type.name)' is \(type.keywordWithArticle).",
          at: type.file.offset(of: type.head.end), of: declaration)
      }
      let access = type.access
      add(
        """
        \(access)nonisolated let modelExecutor: any SwiftData.ModelExecutor

        \(access)nonisolated let modelContainer: SwiftData.ModelContainer

        \(access)init(modelContainer: SwiftData.ModelContainer) {
          let modelContext = SwiftData.ModelContext(modelContainer)
          self.modelExecutor = SwiftData.DefaultSerialModelExecutor(modelContext: modelContext)
          self.modelContainer = modelContainer
        }
        """)
    case "extension":
      guard let name = request.extendedTypeSyntax?.source, type.keyword == "actor",
        request.conformanceListSyntax?.tokens.words.contains("ModelActor") ?? false
      else { return }
      add("extension \(name): SwiftData.ModelActor {}")
    default: break
    }
  }
}
