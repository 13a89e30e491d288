// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// The source that a macro is replaced with or adds, and what is wrong with its use.
struct MacroExpansion {
  private(set) var source = ""
  private(set) var diagnostics: [ExpansionDiagnostic] = []

  /// Expands a macro in one of its roles.
  static func expand(_ request: ExpansionRequest) -> MacroExpansion {
    var result = MacroExpansion()
    switch (request.macro.typeName, request.macroRole) {
    case ("ModelMacro", let role?): result.expandModel(request, role: role)
    case ("PersistedPropertyMacro", "accessor"?): result.expandAccessors(request)
    case ("PersistedPropertyMacro", "peer"?): result.expandStorage(request)
    case ("ModelActorMacro", let role?): result.expandModelActor(request, role: role)
    case ("AttributeMacro", _), ("RelationshipMacro", _), ("TransientMacro", _): result.checkAnnotation(request)
    case ("UniqueMacro", _), ("IndexMacro", _): result.checkConstraint(request)
    default:
      let message = "The plug-in of SwiftData has no macro '\(request.macro.typeName)'. Build it again."
      result.report(message, at: 0, of: request.declSyntax ?? request.syntax)
    }
    return result
  }

  mutating func add(_ text: String) {
    source += source.isEmpty ? text : "\n" + text
  }

  /// Reports an error, or a warning, at an offset in bytes.
  mutating func report(_ message: String, isWarning: Bool = false, at offset: Int, of syntax: SourceSyntax?) {
    let start = syntax?.location ?? SourceSyntax.Location(fileName: "", offset: 0)
    diagnostics.append(
      ExpansionDiagnostic(
        message: message, severity: isWarning ? "warning" : "error",
        position: SourceSyntax.Location(fileName: start.fileName, offset: start.offset + offset)))
  }
}

extension SourceSyntax {
  /// The tokens of the source, including the directives.
  var tokens: SourceFile { SourceFile(path: "", bytes: Array(source.utf8), keepsConditions: true) }
}

extension SourceFile {
  /// Returns the offset of a token, or of the end of the source.
  func offset(of position: Int) -> Int {
    tokens.indices.contains(position) ? tokens[position].range.lowerBound : bytes.count
  }
}
