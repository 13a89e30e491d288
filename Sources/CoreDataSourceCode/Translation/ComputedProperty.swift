// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// A computed property with `@objc`, which key-value coding calls on Apple's systems.
struct ComputedProperty {
  let name: String
  let type: String
  let hasSetter: Bool

  /// The file that declares a private property; nil if other files can use the property.
  let privateTo: String?

  /// Returns the computed properties declared by a type.
  static func all(in type: TypeDeclaration, of file: SourceFile) -> [ComputedProperty] {
    file.members(of: type, "var").compactMap { position, head in
      guard type.hasObjectiveCMembers || head.attributes.contains("objc"), !head.isStatic,
        head.attributes.isDisjoint(with: ["NSManaged", "nonobjc"]), !head.modifiers.contains("override"),
        file.word(position + 2) == ":"
      else { return nil }
      let typeEnd = file.afterType(position + 3)
      guard file.word(typeEnd) == "{" else { return nil }
      let body = file.inside(typeEnd)
      guard !["willSet", "didSet"].contains(file.word(body.lowerBound)) else { return nil }
      return ComputedProperty(
        name: file.word(position + 1), type: file.text(position + 3..<typeEnd),
        hasSetter: body.contains { file.word($0) == "set" && ["{", "("].contains(file.word($0 + 1)) },
        privateTo: head.isPrivate || type.isPrivate ? file.path : nil)
    }
  }
}

extension TranslationPass {
  /// Returns the members through which key-value coding calls the program's own accessors, as on Apple's systems.
  func keyValueCoding(_ type: TypeDeclaration) -> [MemberText] {
    let properties = (program.computedProperties[type.bareName] ?? []).filter {
      $0.privateTo == nil || $0.privateTo == file.path
    }
    guard program.isManagedObject(type.bareName), !properties.isEmpty else { return [] }
    var members: [MemberText] = []
    if !declares("value", type) {
      members.append(
        MemberText(
          ["\(type.access)override func value(forKey key: String) -> Any? {", "switch key {"]
            + properties.flatMap { ["case \"\($0.name)\":", "return keyValue(of: self.\($0.name))"] }
            + ["default:", "return super.value(forKey: key)", "}", "}"]))
    }
    let settable = properties.filter(\.hasSetter)
    if !declares("setValue", type), !settable.isEmpty {
      let cases = settable.flatMap {
        [
          "case \"\($0.name)\":", "if let value = keyValue(value, as: \(Self.plain($0.type)).self) {",
          "self.\($0.name) = value", "return", "}",
        ]
      }
      members.append(
        MemberText(
          ["\(type.access)override func setValue(_ value: Any?, forKey key: String) {", "switch key {"] + cases
            + ["default:", "break", "}", "super.setValue(value, forKey: key)", "}"]))
    }
    return members
  }

  /// Returns a type as a type argument, which cannot be an implicitly unwrapped optional.
  private static func plain(_ type: String) -> String {
    let plain = type.hasSuffix("!") ? type.dropLast() + "?" : type
    return plain.contains("&") ? "(\(plain))" : plain
  }
}
