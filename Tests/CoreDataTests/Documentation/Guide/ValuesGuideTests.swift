// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles about transformable attributes and external files, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: transformable-class
/// A color, archived with secure coding.
final class GuideColor: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let red: Double
  let green: Double
  let blue: Double

  init(red: Double, green: Double, blue: Double) {
    (self.red, self.green, self.blue) = (red, green, blue)
  }

  init?(coder: NSCoder) {
    red = coder.decodeDouble(forKey: "red")
    green = coder.decodeDouble(forKey: "green")
    blue = coder.decodeDouble(forKey: "blue")
  }

  func encode(with coder: NSCoder) {
    coder.encode(red, forKey: "red")
    coder.encode(green, forKey: "green")
    coder.encode(blue, forKey: "blue")
  }
}
// end

// guide: transformable-transformer
/// Lets colors, and nothing else, into an attribute.
final class GuideColorTransformer: NSSecureUnarchiveFromDataTransformer {
  static let name = NSValueTransformerName("GuideColorTransformer")

  override class var allowedTopLevelClasses: [AnyClass] { [GuideColor.self] }

  static func register() {
    ValueTransformer.setValueTransformer(GuideColorTransformer(), forName: name)
  }
}
// end

// guide: transformable-json
/// Keeps a list of tags as JSON.
final class GuideTagsTransformer: ValueTransformer {
  static let name = NSValueTransformerName("GuideTagsTransformer")

  override func transformedValue(_ value: Any?) -> Any? {
    guard let tags = value as? [String] else { return nil }
    // A list of strings has a form in JSON.
    return try? JSONEncoder().encode(tags)
  }

  override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let data = value as? Data else { return nil }
    // Data that is not a list of tags gives no value.
    return try? JSONDecoder().decode([String].self, from: data)
  }
}
// end

@Suite("The code of the guide: values", .serialized)
struct ValuesGuideTests {
  private let store: TemporaryStore
  private var storeURL: URL { store.url }

  init() throws {
    store = try TemporaryStore("Data.sqlite")
  }

  private func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Shape", [.make("name", .stringAttributeType)] + attributes)
    return builder.model()
  }

  private func colored() -> NSManagedObjectModel {
    // guide: transformable-attribute
    let color = NSAttributeDescription()
    color.name = "color"
    color.attributeType = .transformableAttributeType
    color.valueTransformerName = GuideColorTransformer.name.rawValue
    // end
    return model([color])
  }

  @Test("A class of the program is saved and read by a transformer with a name")
  func transformer() throws {
    // guide: transformable-register
    GuideColorTransformer.register()
    // end
    var context = try store.context(colored())
    // guide: transformable-set
    let shape = NSEntityDescription.insertNewObject(forEntityName: "Shape", into: context)
    shape.setValue("circle", forKey: "name")
    shape.setValue(GuideColor(red: 1, green: 0.5, blue: 0), forKey: "color")
    try context.save()
    // end
    try store.close()

    context = try store.context(colored())
    let read = try #require(try context.all("Shape").first)
    #expect((read.value(forKey: "color") as? GuideColor)?.green == 0.5)

    read.setValue("red", forKey: "color")
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSCoreDataError)
    #expect(
      error?.localizedFailureReason
        == "A NSString in 'color' of 'Shape' cannot be archived: its transformer returned nil for it.")
    try store.close()
    #expect(try Data(contentsOf: storeURL).range(of: Data(NSStringFromClass(GuideColor.self).utf8)) != nil)
  }

  @Test("Collections of Foundation's classes need no transformer")
  func plain() throws {
    var context = try store.context(model([.make("tags", .transformableAttributeType)]))
    // guide: transformable-plain
    let shape = NSEntityDescription.insertNewObject(forEntityName: "Shape", into: context)
    shape.setValue(["round", "red"], forKey: "tags")
    try context.save()
    // end
    try store.close()
    context = try store.context(model([.make("tags", .transformableAttributeType)]))
    let read = try #require(try context.all("Shape").first)
    // guide: transformable-read
    let tags = read.value(forKey: "tags") as? [String] ?? []
    // end
    #expect(tags == ["round", "red"])
    // guide: transformable-replace
    read.setValue(tags + ["large"], forKey: "tags")
    try context.save()
    // end
    try store.close()
    context = try store.context(model([.make("tags", .transformableAttributeType)]))
    #expect(try context.all("Shape").first?.value(forKey: "tags") as? [String] == ["round", "red", "large"])
    try store.close()

    final class Unarchivable: NSObject {}
    context = try store.context(model([.make("tags", .transformableAttributeType)]))
    context.make("Shape", ["tags": Unarchivable()])
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSCoreDataError)
    #expect(
      error?.localizedFailureReason?.hasPrefix("A Unarchivable in 'tags' of 'Shape' cannot be archived: ") == true)
  }

  @Test("A transformer of one's own may write what it likes")
  func json() throws {
    ValueTransformer.setValueTransformer(GuideTagsTransformer(), forName: GuideTagsTransformer.name)
    let tags = NSAttributeDescription.make("tags", .transformableAttributeType)
    tags.valueTransformerName = GuideTagsTransformer.name.rawValue
    var context = try store.context(model([tags]))
    context.make("Shape", ["tags": ["round", "red"]])
    try context.save()
    try store.close()
    let bytes = try Data(contentsOf: storeURL)
    #expect(bytes.range(of: Data(#"["round","red"]"#.utf8)) != nil)
    let again = NSAttributeDescription.make("tags", .transformableAttributeType)
    again.valueTransformerName = GuideTagsTransformer.name.rawValue
    context = try store.context(model([again]))
    #expect(try context.all("Shape").first?.value(forKey: "tags") as? [String] == ["round", "red"])
    try store.close()

    // Without the transformer there is only data, which is kept when something else is saved.
    ValueTransformer.setValueTransformer(nil, forName: GuideTagsTransformer.name)
    let unknown = NSAttributeDescription.make("tags", .transformableAttributeType)
    unknown.valueTransformerName = GuideTagsTransformer.name.rawValue
    context = try store.context(model([unknown]))
    let shape = try #require(try context.all("Shape").first)
    #expect(shape.value(forKey: "tags") as? Data == Data(#"["round","red"]"#.utf8))
    shape.setValue("changed", forKey: "name")
    try context.save()
    #expect(shape.value(forKey: "tags") as? Data == Data(#"["round","red"]"#.utf8))
  }

  private func pictures() -> NSManagedObjectModel {
    // guide: external-attribute
    let picture = NSAttributeDescription()
    picture.name = "picture"
    picture.attributeType = .binaryDataAttributeType
    picture.allowsExternalBinaryDataStorage = true
    // end
    return model([picture])
  }

  @Test("A large value is in a file beside the store, and a missing file is an error where it matters")
  func external() throws {
    var context = try store.context(pictures())
    // guide: external-save
    for (name, size) in [("thumbnail", 20_000), ("photo", 300_000)] {
      let shape = NSEntityDescription.insertNewObject(forEntityName: "Shape", into: context)
      shape.setValue(name, forKey: "name")
      shape.setValue(Data(count: size), forKey: "picture")
    }
    try context.save()
    // end
    let directory = store.folder.appendingPathComponent(".Data_SUPPORT/_EXTERNAL_DATA")
    // guide: external-files
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    // end
    #expect(files.count == 1)
    try store.close()

    // guide: external-backup
    let backup = try StoreBackup.make(of: storeURL)
    // end
    #expect(try store.files().contains(".Data~_SUPPORT"))

    let copy = store.folder.appendingPathComponent(".Data~_SUPPORT/_EXTERNAL_DATA/\(files[0])")
    #expect(try Data(contentsOf: copy).count == 300_000)
    #expect(try FileManager.default.attributesOfItem(atPath: copy.path)[.referenceCount] as? Int == 1)
    try FileManager.default.removeItem(at: directory.appendingPathComponent(files[0]))
    context = try store.context(pictures())
    let found = try context.all("Shape").first?.value(forKey: "picture") as? Data
    #expect(found?.count == 300_000, "the file of a backup beside the store has the value too")
    try store.close()
    let other = store.folder.appendingPathComponent(".Data~_SUPPORT")
    let hidden = store.folder.appendingPathComponent("hidden")
    try FileManager.default.moveItem(at: other, to: hidden)
    context = try store.context(pictures())
    let photo = try #require(try context.all("Shape").first)
    #expect(photo.value(forKey: "name") as? String == "photo")
    #expect(photo.value(forKey: "picture") == nil)
    var reason = ""
    // guide: external-missing
    do {
      _ = try photo.checkedValue(forKeyPath: "picture")
    } catch let error as NSError where error.code == NSPersistentStoreOperationError {
      reason = error.localizedFailureReason ?? ""
    }
    // end
    #expect(
      reason.hasPrefix("The value of 'picture' of the row 2 in ZSHAPE, entity 'Shape', cannot be read: its file '"))
    #expect(reason.hasSuffix("' is missing."))
    photo.setValue("the photo", forKey: "name")
    let saving = #expect(throws: NSError.self) { try context.save() }
    #expect(saving?.code == NSManagedObjectValidationError)
    #expect(
      saving?.localizedRecoverySuggestion
        == "Restore the file and refresh the object, or set the property; nil gives the old value up.")
    context.rollback()
    try store.close()

    try FileManager.default.moveItem(at: hidden, to: other)
    // guide: external-restore
    try StoreBackup.restore(backup, to: storeURL)
    // end
    context = try store.context(pictures())
    let restored = try #require(try context.all("Shape").first)
    #expect((restored.value(forKey: "picture") as? Data)?.count == 300_000)
  }

  @Test("Deleting the object removes the file")
  func deletion() throws {
    let context = try store.context(pictures())
    let shape = context.make("Shape", ["name": "photo", "picture": Data(count: 300_000)])
    try context.save()
    let directory = store.folder.appendingPathComponent(".Data_SUPPORT/_EXTERNAL_DATA")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
    shape.setValue(Data(count: 200_000), forKey: "picture")
    try context.save()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
    context.delete(shape)
    try context.save()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }
}
