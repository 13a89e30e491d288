// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes keyed archives of Foundation's plain classes, with the keys and class lists that Apple's archiver writes.
///
/// Foundation's own archiver returns no data in programs linked with `--static-swift-stdlib` (Swift 6.3), and crashes
/// on Linux for decimal numbers. Objects of the program's own classes encode themselves with an `ObjectArchiveEncoder`.
package final class ObjectArchiveWriter {
  /// The reason a value cannot be archived.
  package enum Problem: Error, Hashable, CustomStringConvertible {
    /// An object of one of the program's classes that must not be archived.
    case otherClass(String)
    /// A collection that contains itself, or more than a reader accepts.
    case unreadable(String)

    package var description: String {
      switch self {
      case .otherClass(let name): "\(name) is not one of Foundation's plain classes"
      case .unreadable(let reason): reason
      }
    }
  }

  /// Returns the name under which objects of a class are archived; nil for its name in Swift.
  package typealias CodedName = (AnyClass) -> String?

  fileprivate var builder = KeyedArchiveBuilder()
  private let programClasses: ObjectArchiveReader.ProgramClasses
  private let codedName: CodedName
  private var uids: [ObjectIdentifier: ArchiveValue] = [:]
  private var open: Set<ObjectIdentifier> = []
  /// Retains the objects in `uids`, so that no other object gets the same address.
  private var retained: [AnyObject] = []
  private var sharesCollections = false
  private var hasProgramObjects = false
  private var count = 0

  private init(_ programClasses: @escaping ObjectArchiveReader.ProgramClasses, _ codedName: @escaping CodedName) {
    self.programClasses = programClasses
    self.codedName = codedName
  }

  /// Archives a value.
  ///
  /// - Parameters:
  ///   - programClasses: Determines which of the program's own classes are archived.
  ///   - codedName: Determines the archived names of classes, if they differ from those in Swift.
  /// - Throws: `Problem`.
  package static func data(
    of value: Any, programClasses: @escaping ObjectArchiveReader.ProgramClasses = { _ in nil },
    codedName: @escaping CodedName = { _ in nil }
  ) throws -> Data {
    let writer = ObjectArchiveWriter(programClasses, codedName)
    let root = try writer.uid(of: value, depth: 0)
    let data = writer.builder.data(root: root)
    guard data.count <= ObjectArchiveReader.limits.bytes else {
      throw Problem.unreadable(
        "its archive has \(data.count) bytes, but at most \(ObjectArchiveReader.limits.bytes) can be read")
    }
    // Only these archives can exceed the limits of a reader, or decode to a different object.
    if writer.sharesCollections || writer.hasProgramObjects || data.count > 1 << 20 {
      do {
        _ = try ObjectArchiveReader.object(in: data, programClasses: programClasses)
      } catch let failure as ArchiveFailure {
        throw Problem.unreadable("its archive cannot be read back: \(failure.found)")
      }
    }
    return data
  }

  fileprivate func uid(of value: Any, depth: Int) throws -> ArchiveValue {
    guard depth < ObjectArchiveReader.deepest else { throw Problem.unreadable("it is nested too deeply") }
    // Foundation on Linux returns copies of nested collections, so shared ones are visited repeatedly.
    count += 1
    guard count <= ObjectArchiveReader.limits.objects else {
      throw Problem.unreadable("it contains more than \(ObjectArchiveReader.limits.objects) objects")
    }
    guard type(of: value) is AnyClass else { return try unshared(value, depth: depth) }
    let object = value as AnyObject
    let identity = ObjectIdentifier(object)
    if let known = uids[identity] {
      guard !open.contains(identity) else { throw Problem.unreadable("it contains itself") }
      sharesCollections =
        sharesCollections || object is NSArray || object is NSDictionary || object is NSSet
        || object is NSOrderedSet
      return known
    }
    guard open.insert(identity).inserted else { throw Problem.unreadable("it contains itself") }
    defer { open.remove(identity) }
    let uid = try unshared(value, depth: depth)
    uids[identity] = uid
    retained.append(object)
    return uid
  }

  private func unshared(_ value: Any, depth: Int) throws -> ArchiveValue {
    // An object of one of the program's classes encodes itself.
    if let object = value as? NSObject, type(of: value) is AnyClass, let name = try programClass(of: object) {
      return try self.object(object, name, depth: depth)
    }
    switch value {
    case is NSNull: return builder.add("NSNull", [:])
    case let text as NSMutableString:
      return wrapped("NSMutableString", "NS.string", builder.scalar(.string(text as String)))
    case let text as String: return builder.scalar(.string(text))
    case let number as NSDecimalNumber: return decimal(number.decimalValue)
    case let number as Decimal: return decimal(number)
    case let date as Date:
      return builder.add("NSDate", ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
    case let data as NSMutableData: return wrapped("NSMutableData", "NS.data", .data(Data(referencing: data)))
    case let data as Data: return builder.scalar(.data(data))
    case let uuid as UUID:
      return builder.add("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })])
    case let url as NSURL: return try self.url(url.relativeString, base: url.baseURL, depth: depth)
    case let url as URL: return try self.url(url.relativeString, base: url.baseURL, depth: depth)
    case let string as NSAttributedString: return try attributedString(string, depth: depth)
    case let set as NSCountedSet: return try countedSet(set, depth: depth)
    case let set as NSOrderedSet: return try orderedSet(set, depth: depth)
    case let number as NSNumber: return builder.scalar(ArchiveValue(number))
    default: return try collection(value, depth: depth)
    }
  }

  /// Returns the name of an object's class if it is one of the program's, or nil for Foundation's plain classes.
  private func programClass(of object: NSObject) throws -> String? {
    // NSStringFromClass() traps for a nested class.
    let name = String(reflecting: type(of: object))
    let parts = name.split(separator: ".")
    if parts.count == 2, parts[0] == "Foundation",
      KeyedArchiveBuilder.plainClasses.contains(String(parts[1])) || parts[1].hasPrefix("_")
    {
      return nil
    }
    guard object is any NSCoding, let found = programClasses(name), found == type(of: object) else {
      throw Problem.otherClass(name)
    }
    // A name that does not lead back to the class would make the value unreadable.
    let own: AnyClass = type(of: object)
    if let coded = codedName(own), let type = programClasses(coded), type == own { return coded }
    return name
  }

  private func object(_ object: NSObject, _ className: String, depth: Int) throws -> ArchiveValue {
    hasProgramObjects = true
    let uid = builder.reserve()
    let encoder = ObjectArchiveEncoder(self, depth: depth)
    (object as? any NSCoding)?.encode(with: encoder)
    builder.fill(uid, className, try encoder.finish())
    return uid
  }

  // MARK: Collections

  private func collection(_ value: Any, depth: Int) throws -> ArchiveValue {
    switch value {
    case let array as NSArray:
      return try list(array, array is NSMutableArray ? "NSMutableArray" : "NSArray", depth: depth)
    case let set as NSSet: return try list(set.allObjects, set is NSMutableSet ? "NSMutableSet" : "NSSet", depth: depth)
    case let dictionary as NSDictionary:
      let name = dictionary is NSMutableDictionary ? "NSMutableDictionary" : "NSDictionary"
      return try self.dictionary(dictionary.map { ($0.key, $0.value) }, name, depth: depth)
    // In a statically linked program, not every Swift collection is bridged by a cast.
    case let array as [Any]: return try list(array._bridgeToObjectiveC(), "NSArray", depth: depth)
    case let set as Set<AnyHashable>: return try list(set._bridgeToObjectiveC().allObjects, "NSSet", depth: depth)
    case let entries as [AnyHashable: Any]:
      return try dictionary(entries._bridgeToObjectiveC().map { ($0.key, $0.value) }, "NSDictionary", depth: depth)
    default: throw Problem.otherClass("\(type(of: value))")
    }
  }

  /// Throws an error for set elements and dictionary keys that a reader would reject.
  private func checkHashable(_ element: Any) throws {
    guard !(element is NSArray), !(element is NSDictionary) else {
      throw Problem.unreadable("it contains an array or a dictionary as an element of a set or a key of a dictionary")
    }
  }

  private func list(_ elements: some Sequence, _ className: String, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    var references: [ArchiveValue] = []
    for element in elements {
      if className.hasSuffix("Set") { try checkHashable(element) }
      references.append(try self.uid(of: element, depth: depth + 1))
    }
    builder.fill(uid, className, ["NS.objects": .array(references)])
    return uid
  }

  /// Archives an ordered set, with a key for each element.
  private func orderedSet(_ set: NSOrderedSet, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    var fields: [String: ArchiveValue] = [:]
    for (position, element) in set.enumerated() {
      try checkHashable(element)
      fields["NS.object.\(position)"] = try self.uid(of: element, depth: depth + 1)
    }
    builder.fill(uid, set is NSMutableOrderedSet ? "NSMutableOrderedSet" : "NSOrderedSet", fields)
    return uid
  }

  private func countedSet(_ set: NSCountedSet, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    var fields: [String: ArchiveValue] = ["NS.count": .integer(Int64(set.count))]
    for (position, element) in set.allObjects.enumerated() {
      try checkHashable(element)
      fields["NS.object\(position)"] = try self.uid(of: element, depth: depth + 1)
      fields["NS.count\(position)"] = .integer(Int64(set.count(for: element)))
    }
    builder.fill(uid, "NSCountedSet", fields)
    return uid
  }

  private func dictionary(_ entries: [(key: Any, value: Any)], _ className: String, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    // String keys are sorted, so that equal dictionaries give equal bytes.
    let sorted = entries.sorted { ($0.key as? String ?? "") < ($1.key as? String ?? "") }
    for (key, _) in sorted { try checkHashable(key) }
    let keys = try sorted.map { try self.uid(of: $0.key, depth: depth + 1) }
    let values = try sorted.map { try self.uid(of: $0.value, depth: depth + 1) }
    builder.fill(uid, className, ["NS.keys": .array(keys), "NS.objects": .array(values)])
    return uid
  }

  // MARK: Single values

  private func wrapped(_ className: String, _ key: String, _ value: ArchiveValue) -> ArchiveValue {
    builder.add(className, [key: value])
  }

  private func decimal(_ number: Decimal) -> ArchiveValue {
    builder.add("NSDecimalNumberPlaceholder", ArchivedDecimal.fields(of: number))
  }

  private func url(_ text: String, base: URL?, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    let base = try base.map { try self.uid(of: $0, depth: depth + 1) } ?? KeyedArchiveBuilder.null
    builder.fill(uid, "NSURL", ["NS.base": base, "NS.relative": builder.string(text)])
    return uid
  }

  private func attributedString(_ string: NSAttributedString, depth: Int) throws -> ArchiveValue {
    let uid = builder.reserve()
    var fields = ["NSString": builder.string(string.string)]
    var runs: [(length: Int, attributes: [String: Any])] = []
    var position = 0
    while position < string.length {
      var range = NSRange()
      let attributes = string.attributes(at: position, effectiveRange: &range)
      let end = max(range.location + range.length, position + 1)
      runs.append((end - position, Dictionary(uniqueKeysWithValues: attributes.map { ($0.key.rawValue, $0.value) })))
      position = end
    }
    if runs.count == 1 {
      fields["NSAttributes"] = try self.uid(of: runs[0].attributes, depth: depth + 1)
    } else if !runs.isEmpty {
      let dictionaries = try runs.map { try self.uid(of: $0.attributes, depth: depth + 2) }
      fields["NSAttributes"] = builder.collection(dictionaries)
      let numbers = runs.enumerated().flatMap {
        VariableLengthNumbers.bytes(of: $0.element.length) + VariableLengthNumbers.bytes(of: $0.offset)
      }
      fields["NSAttributeInfo"] = wrapped("NSMutableData", "NS.data", .data(Data(numbers)))
    }
    builder.fill(
      uid, string is NSMutableAttributedString ? "NSMutableAttributedString" : "NSAttributedString", fields)
    return uid
  }
}

/// Collects the fields that one of the program's objects encodes.
private final class ObjectArchiveEncoder: NSCoder {
  private let writer: ObjectArchiveWriter
  private let depth: Int
  private var fields: [String: ArchiveValue] = [:]
  private var failure: (any Error)?

  init(_ writer: ObjectArchiveWriter, depth: Int) {
    self.writer = writer
    self.depth = depth
    super.init()
  }

  /// Returns the fields of the object.
  func finish() throws -> [String: ArchiveValue] {
    if let failure { throw failure }
    return fields
  }

  override var allowsKeyedCoding: Bool { true }
  override var requiresSecureCoding: Bool { true }
  override var error: (any Error)? { failure }
  override func failWithError(_ error: any Error) { failure = failure ?? error }

  override func encode(_ object: Any?, forKey key: String) {
    guard failure == nil else { return }
    do {
      fields[key] = try object.map { try writer.uid(of: $0, depth: depth + 1) } ?? KeyedArchiveBuilder.null
    } catch {
      failure = error
    }
  }

  override func encodeConditionalObject(_ object: Any?, forKey key: String) { encode(object, forKey: key) }
  override func encode(_ value: Bool, forKey key: String) { fields[key] = .boolean(value) }
  override func encode(_ value: Int, forKey key: String) { fields[key] = .integer(Int64(value)) }
  override func encode(_ value: Int32, forKey key: String) { fields[key] = .integer(Int64(value)) }
  override func encode(_ value: Int64, forKey key: String) { fields[key] = .integer(value) }
  override func encode(_ value: Float, forKey key: String) { fields[key] = .real(Double(value)) }
  override func encode(_ value: Double, forKey key: String) { fields[key] = .real(value) }

  override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
    fields[key] = .data(bytes.map { Data(bytes: $0, count: length) } ?? Data())
  }
}
