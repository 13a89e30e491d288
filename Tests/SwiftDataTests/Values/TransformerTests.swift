// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Only SwiftData is imported, as in the code of an app.
import SwiftData
import Testing

private final class Tint {
  let red: Double

  init(red: Double) { self.red = red }
}

private final class TintTransformer: ValueTransformer {
  static let name = NSValueTransformerName("TintTransformer")

  override class func transformedValueClass() -> AnyClass { NSData.self }
  override class func allowsReverseTransformation() -> Bool { true }
  override func transformedValue(_ value: Any?) -> Any? { (value as? Tint).map { Data("\($0.red)".utf8) } }
  override func reverseTransformedValue(_ value: Any?) -> Any? {
    (value as? Data).flatMap { Double(String(decoding: $0, as: UTF8.self)) }.map { Tint(red: $0) }
  }
}

private final class NamesTransformer: NSSecureUnarchiveFromDataTransformer {
  static let name = NSValueTransformerName(rawValue: "NamesTransformer")

  override static var allowedTopLevelClasses: [AnyClass] { [NSArray.self, NSString.self] }
}

@Model
private final class Wall {
  @Attribute(.transformable(by: TintTransformer.self)) var tint: Tint?
  @Attribute(.transformable(by: "NamesTransformer")) var names: NSArray?

  init(red: Double) { tint = Tint(red: red) }
}

@Suite("Value transformers of models")
struct TransformerTests {
  @Test("A program's own transformers store values")
  func ownTransformers() throws {
    ValueTransformer.setValueTransformer(TintTransformer(), forName: TintTransformer.name)
    ValueTransformer.setValueTransformer(NamesTransformer(), forName: NamesTransformer.name)
    let container = try ModelContainer(for: Wall.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let wall = Wall(red: 0.5)
    wall.names = ["a", "b"]
    context.insert(wall)
    try context.save()
    let read = try #require(try ModelContext(container).fetch(FetchDescriptor<Wall>()).first)
    #expect(read.tint?.red == 0.5)
    #expect(read.names == ["a", "b"])
  }
}
