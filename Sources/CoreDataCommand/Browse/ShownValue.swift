// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// The value of an attribute as a page shows it.
struct ShownValue {
  let parts: [HTMLPage.Part]
  var isNumber = false
  var style: String?

  /// - Parameters:
  ///   - limit: the maximum length of a text, in Unicode scalars.
  ///   - address: where the whole value can be loaded.
  init(_ value: Any?, of attribute: NSAttributeDescription, limit: Int, address: String) {
    switch value {
    case nil, is NSNull: (parts, style) = ([.text("none")], "dim")
    case let text as String: parts = Self.parts(of: text, limit: limit, address: address)
    case let date as Date: parts = [.text(DateText.text(date.timeIntervalSinceReferenceDate))]
    case let data as Data: parts = Self.parts(of: data, address: address)
    case let uuid as UUID: (parts, style) = ([.text(uuid.uuidString)], "code")
    case let url as URL: parts = Self.parts(of: url.absoluteString, limit: limit, address: nil)
    case let number as NSDecimalNumber: (parts, isNumber) = ([.text(number.description)], true)
    case let number as NSNumber where attribute.attributeType == .booleanAttributeType:
      parts = [.text(number.boolValue ? "true" : "false")]
    case let number as NSNumber: (parts, isNumber) = ([.text(number.stringValue)], true)
    case let values as NSDictionary where attribute is NSCompositeAttributeDescription:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      var parts: [HTMLPage.Part] = []
      for element in elements.sorted(by: { $0.name < $1.name }) {
        parts.append(.dim(parts.isEmpty ? "\(element.name): " : ", \(element.name): "))
        let part = ShownValue(
          values[element.name], of: element, limit: limit, address: "\(address).\(URLText.encoded(element.name))")
        parts += part.parts
      }
      self.parts = parts
    case let value?: parts = Self.parts(of: String(describing: value), limit: limit, address: nil)
    }
  }

  /// The value as a line of text, such as the title of an object.
  static func line(_ text: String, limit: Int = 60) -> String {
    let start = String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit)))
    return start.utf8.count < text.utf8.count ? start + "…" : start
  }

  private static func parts(of text: String, limit: Int, address: String?) -> [HTMLPage.Part] {
    guard !text.isEmpty else { return [.dim("empty")] }
    let shown = line(text, limit: limit)
    guard shown.utf8.count != text.utf8.count, let address else { return [.lines(shown)] }
    return [.lines(shown), .text(" "), .link("all \(NumberText.grouped(text.utf8.count)) bytes", address: address)]
  }

  private static func parts(of data: Data, address: String) -> [HTMLPage.Part] {
    let size = NumberText.counted(data.count, "byte")
    if let type = PictureType(of: data) { return [.picture(address: address, text: "\(type.name), \(size)")] }
    return data.isEmpty ? [.dim(size)] : [.link(size, address: address)]
  }
}

/// A picture that browsers can show, by the first bytes of its file. Nothing else of a store is shown by a browser's own
/// means: other types, such as SVG, can contain scripts.
struct PictureType: Hashable {
  let name: String
  let mediaType: String

  private static let signatures: [(name: String, mediaType: String, bytes: [UInt8?])] = [
    ("PNG", "image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    ("JPEG", "image/jpeg", [0xff, 0xd8, 0xff]),
    ("GIF", "image/gif", [0x47, 0x49, 0x46, 0x38]),
    ("WebP", "image/webp", [0x52, 0x49, 0x46, 0x46, nil, nil, nil, nil, 0x57, 0x45, 0x42, 0x50]),
    ("BMP", "image/bmp", [0x42, 0x4d, nil, nil, nil, nil, 0, 0, 0, 0]),
    ("AVIF", "image/avif", [0, 0, 0, nil, 0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66]),
  ]

  init?(of data: Data) {
    let start = Array(data.prefix(16))
    for signature in Self.signatures where start.count >= signature.bytes.count {
      guard zip(signature.bytes, start).allSatisfy({ $0 == nil || $0 == $1 }) else { continue }
      (name, mediaType) = (signature.name, signature.mediaType)
      return
    }
    return nil
  }
}
