// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A computed property that key-value coding calls on Apple's systems: one with `@objc`.
struct ComputedProperty {
  let name: String
  let type: String
  let hasSetter: Bool

  /// Returns those that a type declares.
  static func all(in type: TypeDeclaration, of file: SourceFile) -> [ComputedProperty] {
    var result: [ComputedProperty] = []
    var position = type.body.lowerBound
    let end = min(type.body.upperBound, file.words.count)
    // What has been said of the declaration that begins.
    var (isCallable, isManaged, isStatic) = (type.hasObjectiveCMembers, false, false)
    while position < end {
      switch file.word(position) {
      case "@" where file.isWord(position + 1):
        isCallable = isCallable || file.word(position + 1) == "objc"
        isManaged = isManaged || ["NSManaged", "nonobjc"].contains(file.word(position + 1))
        position = file.word(position + 2) == "(" ? file.afterBrackets(position + 2) : position + 2
      case "static", "class", "override":
        isStatic = true
        position += 1
      case "{", "(", "[":
        position = file.afterBrackets(position)
        (isCallable, isManaged, isStatic) = (type.hasObjectiveCMembers, false, false)
      case "var" where isCallable && !isManaged && !isStatic && file.word(position + 2) == ":":
        let typeEnd = file.afterType(position + 3)
        if file.word(typeEnd) == "{" {
          let body = file.inside(typeEnd)
          let isObserved = ["willSet", "didSet"].contains(file.word(body.lowerBound))
          if !isObserved {
            result.append(
              ComputedProperty(
                name: file.word(position + 1), type: file.text(position + 3..<typeEnd),
                hasSetter: body.contains { file.word($0) == "set" && ["{", "("].contains(file.word($0 + 1)) }))
          }
        }
        position = typeEnd
      case "var", "let", "func", "init", "subscript", "typealias", "case":
        if file.word(position) != "var" || file.word(position + 2) != ":" {
          (isCallable, isManaged, isStatic) = (type.hasObjectiveCMembers, false, false)
        }
        position += 1
      default: position += 1
      }
    }
    return result
  }
}

extension TranslationPass {
  /// The members by which key-value coding calls the accessors that the program has written, as on Apple's systems.
  func keyValueCoding(_ type: TypeDeclaration) -> [String] {
    let properties = program.computedProperties[type.bareName] ?? []
    guard program.isManagedObject(type.bareName), !properties.isEmpty else { return [] }
    var members: [String] = []
    if !declares("value", type) {
      let cases = properties.map { "case \"\($0.name)\": return keyValue(of: self.\($0.name))" }
      members.append(
        "\(type.access)override func value(forKey key: String) -> Any? { switch key { "
          + "\(cases.joined(separator: "; ")); default: return super.value(forKey: key) } }")
    }
    let settable = properties.filter(\.hasSetter)
    if !declares("setValue", type), !settable.isEmpty {
      let cases = settable.map {
        "case \"\($0.name)\": if let value = keyValue(value, as: \(Self.plain($0.type)).self) "
          + "{ self.\($0.name) = value; return }"
      }
      members.append(
        "\(type.access)override func setValue(_ value: Any?, forKey key: String) { switch key { "
          + "\(cases.joined(separator: "; ")); default: break }; super.setValue(value, forKey: key) }")
    }
    return members
  }

  /// A type as a type argument: not an implicitly unwrapped optional.
  private static func plain(_ type: String) -> String {
    let plain = type.hasSuffix("!") ? type.dropLast() + "?" : type
    return plain.contains("&") ? "(\(plain))" : plain
  }
}
