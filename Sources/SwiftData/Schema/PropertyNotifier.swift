// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Observation

/// Notifies the observers of a property that it changes in another way than through its setter.
class PropertyNotifier: @unchecked Sendable {
  // Immutable.

  fileprivate init() {}

  func willSet(_ model: any PersistentModel) {}
  func didSet(_ model: any PersistentModel) {}

  final func notify(_ model: any PersistentModel) {
    willSet(model)
    didSet(model)
  }

  /// Returns the notifier of a property; nil if the key path does not begin at the class.
  static func make<Root: PersistentModel>(_ keyPath: AnyKeyPath, of type: Root.Type) -> PropertyNotifier? {
    func make<Member>(_ member: Member.Type) -> PropertyNotifier? {
      (keyPath as? KeyPath<Root, Member>).map { TypedNotifier($0) }
    }
    return _openExistential(Swift.type(of: keyPath).valueType, do: make)
  }
}

private final class TypedNotifier<Root: PersistentModel, Member>: PropertyNotifier, @unchecked Sendable {
  // Immutable, but for what key paths consist of.

  private let keyPath: KeyPath<Root, Member>

  init(_ keyPath: KeyPath<Root, Member>) {
    self.keyPath = keyPath
    super.init()
  }

  override func willSet(_ model: any PersistentModel) {
    guard let model = model as? Root else { return }
    model._observationRegistrar?.willSet(model, keyPath: keyPath)
  }

  override func didSet(_ model: any PersistentModel) {
    guard let model = model as? Root else { return }
    model._observationRegistrar?.didSet(model, keyPath: keyPath)
  }
}
