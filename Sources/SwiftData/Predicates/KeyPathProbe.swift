// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes

/// Finds the steps of a key path with several components, such as `\Trip.owner?.name`, or of an inherited property.
///
/// A key path does not reveal its components. So it is evaluated on a model without values, whose accessors record what
/// is read and return unusual values. If the result is not the last value returned, a component is computed.
struct KeyPathProbe {
  private let keyPath: AnyKeyPath
  private let type: any PersistentModel.Type

  init(_ keyPath: AnyKeyPath, of type: any PersistentModel.Type) { (self.keyPath, self.type) = (keyPath, type) }

  /// Returns what the key path leads to.
  ///
  /// - Throws: `NotInStore` if a component is not stored.
  func term(from object: ObjectPath, _ names: any KeyPathNames) throws -> Term {
    let components = Self.components(of: keyPath)
    if components.count == 1, ModelLayout.classes(of: type).count == 1 {
      throw NotInStore("The computed property \(keyPath.words) of \(type) is not stored")
    }
    let record = ProbeRecord(isOther: false)
    let isStraight = isStraight(record, components.count)
    let steps = record.steps
    let unknown = unknown(reading: steps, names)
    let other = ProbeRecord(isOther: true)
    guard isStraight, !steps.isEmpty, steps.count <= components.count, self.isStraight(other, components.count),
      steps.map(\.keyPath) == other.steps.map(\.keyPath)
    else { throw unknown }
    var term = Term.object(object)
    for step in steps {
      guard case .object(let owner) = term, let property = names.property(step.keyPath, of: step.type) else {
        throw unknown
      }
      term = try owner.property(property)
    }
    for name in components[steps.count...] {
      guard case .composite(let composite) = term, let element = composite.elements.first(where: { $0.name == name })
      else { throw unknown }
      term = try composite.part(element)
    }
    return term
  }

  private func isStraight(_ record: ProbeRecord, _ count: Int) -> Bool {
    let model: any PersistentModel.Type = type
    return probe(model, keyPath, record, count)
  }

  /// The error for a key path with a computed part, which is named by the stored properties that it reads.
  private func unknown(reading steps: [ProbeRecord.Step], _ names: any KeyPathNames) -> NotInStore {
    var read: [String] = []
    for name in steps.compactMap({ names.property($0.keyPath, of: $0.type)?.name }) where !read.contains(name) {
      read.append(name)
    }
    let list = read.isEmpty ? "" : ", which reads \(read.map { "'\($0)'" }.joined(separator: ", ")),"
    return NotInStore("\(keyPath.words) of \(type)\(list) has a part that is not stored")
  }

  /// Returns the texts of a key path's components. That of a struct's property is its name.
  private static func components(of keyPath: AnyKeyPath) -> [String] {
    let text = "\(keyPath)"
    let root = "\\\(Swift.type(of: keyPath).rootType)."
    var components = [""]
    var depth = 0
    for character in text.hasPrefix(root) ? text.dropFirst(root.count) : text[...] {
      switch character {
      case "<": depth += 1
      case ">": depth -= 1
      case "." where depth == 0:
        components.append("")
        continue
      case "?", "!":
        if depth == 0 { continue }
      default: break
      }
      components[components.count - 1].append(character)
    }
    return components
  }
}

/// Returns whether a key path returns the last value that it reads from a model.
private func probe<Model: PersistentModel>(
  _ type: Model.Type, _ keyPath: AnyKeyPath, _ record: ProbeRecord, _ count: Int
) -> Bool {
  guard let keyPath = keyPath as? PartialKeyPath<Model> else { return false }
  let model = Model(backingData: ProbingBackingData<Model>(record))
  let value = model[keyPath: keyPath]
  return record.isLast(value, hasFurtherParts: count > record.steps.count)
}

extension KeyPathProbe {
  /// Returns whether the key path leads to the model's own identifier.
  var isIdentifier: Bool {
    let model: any PersistentModel.Type = type
    return leadsToIdentifier(model, keyPath)
  }
}

private func leadsToIdentifier<Model: PersistentModel>(_ type: Model.Type, _ keyPath: AnyKeyPath) -> Bool {
  guard let keyPath = keyPath as? KeyPath<Model, PersistentIdentifier> else { return false }
  let model = Model(backingData: ProbingBackingData<Model>(ProbeRecord(isOther: false)))
  return model[keyPath: keyPath] == model.persistentModelID
}

/// What the accessors of a probe have read.
private final class ProbeRecord {
  struct Step {
    let keyPath: AnyKeyPath
    let type: any PersistentModel.Type
  }

  private(set) var steps: [Step] = []
  private var last: Any?
  /// Whether the values are the second ones of their types.
  private let isOther: Bool

  init(isOther: Bool) { self.isOther = isOther }

  func add(_ keyPath: AnyKeyPath, _ type: any PersistentModel.Type) { steps.append(Step(keyPath: keyPath, type: type)) }

  /// Keeps a value that an accessor returns.
  func returning<Value>(_ value: Value) -> Value {
    last = value
    return value
  }

  /// Returns whether a value is the last one that an accessor returned, or a part of it.
  ///
  /// - Parameter hasFurtherParts: whether the key path has more components than were read.
  func isLast(_ value: Any, hasFurtherParts: Bool) -> Bool {
    guard let last = last.flatMap(PredicateTranslator.flattened) else { return false }
    // The optional parts of a composite's sample are nil.
    guard let value = PredicateTranslator.flattened(value) else { return hasFurtherParts }
    if value is any PersistentModel || last is any PersistentModel {
      return (value as AnyObject) === (last as AnyObject)
    }
    if let value = value as? AnyHashable, let last = last as? AnyHashable, type(of: value.base) == type(of: last.base) {
      return value == last
    }
    // A part of a composite is named by its component.
    return type(of: value) != type(of: last)
  }

  /// Returns an unusual value of a type; nil if the type has no samples.
  func sample<Value>(_ type: Value.Type) -> Value? {
    let values: [Any] =
      isOther
      ? [
        -7, Int8(-7), Int16(-7), Int32(-7), Int64(-7), -7.5, Float(-7.5), "",
        Date(timeIntervalSinceReferenceDate: -7e9),
      ]
      : [113, Int8(113), Int16(113), Int32(113), Int64(113), 113.5, Float(113.5), " Á Value ", Date.distantFuture]
    if let value = values.lazy.compactMap({ $0 as? Value }).first { return value }
    let wrapped = (type as? any OptionalValue.Type)?.wrapped ?? type
    guard let decodable = wrapped as? any Decodable.Type else { return nil }
    func sample<Inner: Decodable>(_ type: Inner.Type) -> Any? {
      // The schema refuses types without samples.
      try? ShapeProbe.sample(type)
    }
    return sample(decodable) as? Value
  }
}

/// The backing data of a model whose accessors are recorded.
private struct ProbingBackingData<Model: PersistentModel>: BackingData {
  private let record: ProbeRecord
  private let identifier = PersistentIdentifier(newOf: String(describing: Model.self))

  init(_ record: ProbeRecord) { self.record = record }
  init(for modelType: Model.Type) { record = ProbeRecord(isOther: false) }

  var metadata: Any { "a probe of key paths" }
  var persistentModelID: PersistentIdentifier? {
    get { identifier }
    set {}
  }

  private func read<Value>(_ key: KeyPath<Model, Value>) -> Value {
    record.add(key, Model.self)
    if let value = record.sample(Value.self) { return record.returning(value) }
    if let none = (Value.self as? any OptionalValue.Type)?.none as? Value { return record.returning(none) }
    trap("The key path of a sort descriptor leads through \(key), whose type \(Value.self) has no sample.")
  }

  private func destination<Value: PersistentModel>(_ key: AnyKeyPath) -> Value {
    record.add(key, Model.self)
    return record.returning(Value(backingData: ProbingBackingData<Value>(record)))
  }

  private func destinations<Value: RelationshipCollection>(_ key: AnyKeyPath) -> Value {
    record.add(key, Model.self)
    if let none = [Value.PersistentElement]() as? Value { return record.returning(none) }
    trap("The key path of a sort descriptor leads through \(key), whose type \(Value.self) is not an array.")
  }

  func getValue<Value: Decodable>(forKey key: KeyPath<Model, Value>) -> Value { read(key) }
  func getTransformableValue<Value>(forKey key: KeyPath<Model, Value>) -> Value { read(key) }
  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>) -> Value { destination(key) }
  func getValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>) -> Value? { destination(key) }
  func getValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement { destinations(key) }
  func getValue<Value: RelationshipCollection & Decodable, Other>(forKey key: KeyPath<Model, Value>) -> Value
  where Other == Value.PersistentElement { destinations(key) }

  // A probe is only read.
  func setValue<Value: Encodable>(forKey key: KeyPath<Model, Value>, to newValue: Value) {}
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value>, to newValue: Value) {}
  func setValue<Value: PersistentModel>(forKey key: KeyPath<Model, Value?>, to newValue: Value?) {}
  func setValue<Value: RelationshipCollection, Other>(forKey key: KeyPath<Model, Value>, to newValue: Value)
  where Other == Value.PersistentElement {}
  func setValue<Value: RelationshipCollection & Encodable, Other>(
    forKey key: KeyPath<Model, Value>, to newValue: Value
  ) where Other == Value.PersistentElement {}
  func setTransformableValue<Value>(forKey key: KeyPath<Model, Value>, to newValue: Value) {}
}
