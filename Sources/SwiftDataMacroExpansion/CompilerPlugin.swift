// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(ucrt)
import ucrt
#endif

// The protocol between the compiler and an executable that expands macros: each message is JSON after its length in
// eight bytes, the least significant first. It is read and written here rather than by swift-syntax, which takes minutes
// to build.

/// A part of the source, as the compiler sends it.
struct SourceSyntax: Codable {
  /// The source, including the comments before it.
  let source: String
  /// Where the source begins; nil in messages of compilers that do not say so.
  var location: Location?

  struct Location: Codable {
    let fileName: String
    let offset: Int
  }
}

/// A request for the expansion of a macro.
struct ExpansionRequest: Codable {
  let macro: Macro
  /// The role of an attached macro, such as `member`; compilers before 5.10 give none for freestanding ones.
  var macroRole: String?
  /// The use of a freestanding macro.
  var syntax: SourceSyntax?
  /// The attribute of an attached macro.
  var attributeSyntax: SourceSyntax?
  /// The declaration with the attribute.
  var declSyntax: SourceSyntax?
  /// The name of the type that an extension is made for.
  var extendedTypeSyntax: SourceSyntax?
  /// A declaration that lists the protocols the type does not conform to yet, of those that the macro declares.
  var conformanceListSyntax: SourceSyntax?
  /// The heads of the declarations around, the innermost first.
  var lexicalContext: [SourceSyntax]?

  struct Macro: Codable {
    /// The type in the declaration of the macro, such as `ModelMacro`.
    let typeName: String
    /// The name of the macro in the source.
    let name: String
  }
}

/// An error or a warning at a place in the source.
struct ExpansionDiagnostic: Codable {
  let message: String
  let severity: String
  let position: SourceSyntax.Location
  // The compiler requires these.
  var highlights: [String] = []
  var notes: [String] = []
  var fixIts: [String] = []
}

/// Answers the messages of a compiler.
package struct CompilerPlugin {
  /// The newest version of the protocol that is known here. Compilers from 6.0 on speak version 7.
  static let protocolVersion = 7
  /// Longer messages are taken for a damaged stream.
  static let largestMessage = 1 << 30

  private struct Message: Decodable {
    struct Capability: Decodable {
      struct Host: Decodable { let protocolVersion: Int }
      var capability: Host?
    }
    struct Library: Decodable {}
    var getCapability: Capability?
    var expandFreestandingMacro: ExpansionRequest?
    var expandAttachedMacro: ExpansionRequest?
    var loadPluginLibrary: Library?
  }

  private struct Answer: Encodable {
    struct Capability: Encodable {
      struct Plugin: Encodable {
        let protocolVersion: Int
        var features: [String] = []
      }
      let capability: Plugin
    }
    struct Expansion: Encodable {
      let expandedSource: String?
      let diagnostics: [ExpansionDiagnostic]
    }
    struct Library: Encodable {
      let loaded: Bool
      let diagnostics: [ExpansionDiagnostic]
    }
    var getCapabilityResult: Capability?
    var expandMacroResult: Expansion?
    var loadPluginLibraryResult: Library?
  }

  /// Returns the answer to a message, both as JSON.
  ///
  /// The compiler waits for an answer to each message; it gets an error for one that cannot be understood.
  static func answer(to message: [UInt8]) -> [UInt8] {
    let result: Answer
    do {
      result = try answer(JSONDecoder().decode(Message.self, from: Data(message)))
    } catch {
      result = failure("The macros of SwiftData could not read a message of the compiler: \(error)")
    }
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return [UInt8](try encoder.encode(result))
    } catch {
      return Array(#"{"expandMacroResult":{"diagnostics":[]}}"#.utf8)
    }
  }

  private static func answer(_ message: Message) -> Answer {
    if let host = message.getCapability {
      let version = min(host.capability?.protocolVersion ?? protocolVersion, protocolVersion)
      return Answer(getCapabilityResult: .init(capability: .init(protocolVersion: version)))
    }
    if let request = message.expandAttachedMacro ?? message.expandFreestandingMacro {
      let expansion = MacroExpansion.expand(request)
      return Answer(
        expandMacroResult: .init(expandedSource: expansion.source, diagnostics: expansion.diagnostics))
    }
    if message.loadPluginLibrary != nil {
      return Answer(loadPluginLibraryResult: .init(loaded: false, diagnostics: []))
    }
    return failure("The macros of SwiftData do not know this message of the compiler. Use Swift 6.0 to 6.3.")
  }

  private static func failure(_ message: String) -> Answer {
    let nowhere = SourceSyntax.Location(fileName: "", offset: 0)
    return Answer(
      expandMacroResult: .init(
        expandedSource: nil, diagnostics: [.init(message: message, severity: "error", position: nowhere)]))
  }

  /// Answers messages until the input ends.
  ///
  /// - Parameters:
  ///   - read: returns as many bytes as it is asked for, or fewer at the end of the input.
  ///   - write: writes bytes to the output.
  static func run(read: (Int) -> [UInt8], write: ([UInt8]) -> Void) {
    while true {
      let header = read(8)
      guard header.count == 8 else { return }
      let length = header.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      // The compiler says with an empty message that there are no more.
      guard length > 0, length <= UInt64(largestMessage) else { return }
      let message = read(Int(length))
      guard message.count == Int(length) else { return }
      let answer = answer(to: message)
      write((0..<8).map { UInt8(truncatingIfNeeded: answer.count >> (8 * $0)) } + answer)
    }
  }

  /// Answers the compiler, which waits at the other end of the standard input and output.
  package static func runWithStandardStreams() {
    #if os(Windows)
    _ = _setmode(0, _O_BINARY)
    _ = _setmode(1, _O_BINARY)
    #endif
    run(read: readInput, write: writeOutput)
  }

  private static func readInput(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        #if os(Windows)
        let read = Int(_read(0, rest.baseAddress, UInt32(rest.count)))
        #else
        let read = read(0, rest.baseAddress, rest.count)
        if read < 0, errno == EINTR { continue }
        #endif
        guard read > 0 else { return }
        filled += read
      }
    }
  }

  private static func writeOutput(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
        #if os(Windows)
        let count = Int(_write(1, rest.baseAddress, UInt32(rest.count)))
        #else
        let count = write(1, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        #endif
        guard count > 0 else { return }
        written += count
      }
    }
  }
}
