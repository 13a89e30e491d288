// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Property lists")
struct PropertyListTests {
  private static var sample: [String: Any] {
    [
      "text": "Größe 🦀", "empty": "", "yes": true, "no": false, "byte": 200, "negative": -5, "large": Int64.max,
      "larger": UInt64.max, "real": -2.5, "date": Date(timeIntervalSinceReferenceDate: 86400), "data": Data(0...99),
      "list": [1, "a", [true]] as [Any], "inner": ["a": ["b": Data()]],
    ]
  }

  @Test("Both binary and XML property lists of Foundation are read as Foundation reads them", arguments: [true, false])
  func foundation(isBinary: Bool) throws {
    let data = try PropertyListSerialization.data(
      fromPropertyList: Self.sample, format: isBinary ? .binary : .xml, options: 0)
    let theirs = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    let ours = try PropertyLists.dictionary(of: data)
    #expect(NSDictionary(dictionary: ours) == theirs.map { NSDictionary(dictionary: $0) })
    #expect(ours["yes"] is Bool)
    #expect(ours["list"] as? NSArray == [1, "a", [true]] as NSArray)
  }

  @Test("Foundation reads what is written, with the kinds of values that were given")
  func writing() throws {
    let data = try PropertyLists.data(of: Self.sample)
    let read = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    #expect(read.map { NSDictionary(dictionary: $0) } == NSDictionary(dictionary: Self.sample))
    #expect(read?["yes"] is Bool)
    #expect(try PropertyLists.value(of: data) == ArchiveValue(foundationValue: Self.sample))
    let classes: [String: Any] = [
      "a": NSString("x"), "b": NSNumber(value: true), "c": NSNumber(value: 1.5 as Float),
      "d": NSArray(array: [NSDate()]),
      "e": NSDictionary(dictionary: ["k": NSData()]),
    ]
    #expect(try PropertyLists.dictionary(of: PropertyLists.data(of: classes)).count == 5)
  }

  @Test("A value that no property list holds is named, and so is one nested too deep to be read again")
  func unwritable() throws {
    let url = URL(fileURLWithPath: "/")
    let error = #expect(throws: PropertyLists.Unwritable.self) { try PropertyLists.data(of: ["a": ["b": [1, url]]]) }
    #expect(error?.path == "a.b.1")
    #expect(throws: PropertyLists.Unwritable.self) { try PropertyLists.data(of: ["a": [1: 2]]) }
    var nested: Any = "x"
    for _ in 0..<60 { nested = [nested] }
    #expect(throws: Never.self) { try PropertyLists.dictionary(of: PropertyLists.data(of: ["a": nested])) }
    for _ in 0..<10 { nested = [nested] }
    #expect(throws: PropertyLists.Unwritable.self) { try PropertyLists.data(of: ["a": nested]) }
  }

  @Test("Dates of XML property lists are those that Foundation reads")
  func dates() throws {
    let days = [-146_000.0, -1, 0, 58, 59, 60, 1095, 1154, 1155, 36_524, 500_000, 2_900_000]
    for interval in days.map({ $0 * 86400 + 45_296 }) {
      let date = Date(timeIntervalSinceReferenceDate: interval)
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.calendar = Calendar(identifier: .iso8601)
      formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss'Z'"
      let text = formatter.string(from: date)
      guard text.utf8.count == 20, interval > -62_000_000_000 else { continue }
      #expect(XMLPropertyList.date(text) == date, "\(text)")
    }
    for text in ["", "2026-13-01T00:00:00Z", "2026-01-01", "99999999999-99-99T99:99:99Z", "2026-01-01T0a:00:00Z"] {
      #expect(XMLPropertyList.date(text) == nil, "\(text)")
    }
  }

  @Test(
    "XML that says something else than a property list is refused with a sentence",
    arguments: [
      "<plist><dict><key>a</key></dict></plist>", "<plist><dict><string>a</string><string>b</string></dict></plist>",
      "<plist><array><color/></array></plist>", "<plist/>", "<plist><true/><true/></plist>", "<list/>", "<plist>",
      "<plist><integer>12x</integer></plist>", "<plist><integer>--1</integer></plist>",
      "<plist><integer>99999999999999999999</integer></plist>", "<plist><real>x</real></plist>",
      "<plist><date>tomorrow</date></plist>", "<plist><data>A</data></plist>",
      "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>",
      "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>",
      "<!DOCTYPE plist [<!ATTLIST plist a CDATA \"b\">]><plist><string/></plist>",
      "<?xml version=\"1.0\" encoding=\"UTF-7\"?><plist><string>+ACY-</string></plist>",
      "<?xml version=\"1.0\" encoding='IBM037'?><plist><string/></plist>",
    ])
  func broken(_ text: String) throws {
    let error = #expect(throws: PropertyLists.Unreadable.self) { try PropertyLists.value(of: Data(text.utf8)) }
    #expect(error?.description.hasSuffix(".") == true)
  }

  @Test("Lists in the old text form are refused, however deep they nest")
  func text() {
    for list in ["{ a = b; }", String(repeating: "(", count: 500_000), "", "x", "\u{FEFF}{}"] {
      let error = #expect(throws: PropertyLists.Unreadable.self) { try PropertyLists.value(of: Data(list.utf8)) }
      #expect(error?.description == "It is neither a binary nor an XML property list.")
    }
  }

  @Test("A deep nest of XML is refused")
  func deepXML() {
    for (opening, closing) in [("<array>", "</array>"), ("<dict><key>a</key>", "</dict>")] {
      for count in [70, 100_000] {
        let text = "<plist>" + String(repeating: opening, count: count) + String(repeating: closing, count: count)
        #expect(throws: PropertyLists.Unreadable.self) { try PropertyLists.value(of: Data((text + "</plist>").utf8)) }
      }
    }
  }

  @Test("A small list of shared lists that would unfold to more values than there is memory is refused")
  func sharedLists() throws {
    var list = HostilePropertyList()
    for position in 1...12 { list.add(array: Array(repeating: position, count: 10)) }
    list.add([0x51, 0x78])
    #expect(list.data.count < 700)
    let error = #expect(throws: ArchiveFailure.self) { try BinaryPropertyListReader.value(of: list.data) }
    #expect(error?.found.contains("more than") == true)
  }

  @Test("Wide lists, shared large values and overlapping objects cannot take more memory than real ones")
  func memory() throws {
    var wide = HostilePropertyList()
    wide.add(array: Array(repeating: 1, count: 4_000_000))
    wide.add([0x51, 0x78])
    #expect(throws: ArchiveFailure.self) { try BinaryPropertyListReader.value(of: wide.data) }

    var shared = HostilePropertyList()
    shared.add(array: Array(repeating: 1, count: 2000))
    shared.add(data: 1 << 20)
    #expect(throws: ArchiveFailure.self) { try BinaryPropertyListReader.value(of: shared.data) }

    // Each object begins one byte after the one before, and claims all the rest.
    var overlapping = HostilePropertyList()
    overlapping.add(array: Array(1...1000))
    let start = overlapping.size
    let length: UInt32 = 100_000
    overlapping.append(Array(repeating: [0x4F, 0x12] + bigEndian(length), count: 1000).flatMap { $0 })
    overlapping.append([UInt8](repeating: 0, count: Int(length)))
    for position in 0..<1000 { overlapping.point(at: start + 6 * position) }
    let error = #expect(throws: ArchiveFailure.self) { try BinaryPropertyListReader.value(of: overlapping.data) }
    #expect(error?.found == "Objects overlap.")
  }

  @Test("One wrong bit anywhere in real metadata is read or refused, and harms nobody")
  func bits() throws {
    let hashes = Dictionary(
      uniqueKeysWithValues: (0..<8).map { ("Entity\($0)", Data(repeating: UInt8($0), count: 32)) })
    let good = try PropertyLists.data(of: [
      "NSStoreModelVersionHashes": hashes, "NSPersistenceFrameworkVersion": 1526, "ids": ["1", "é"], "on": true,
    ])
    var refused = 0
    for position in good.indices {
      for bit in 0..<8 {
        var data = good
        data[position] ^= 1 << UInt8(bit)
        // Any outcome will do but a crash.
        do { _ = try PropertyLists.dictionary(of: data) } catch is PropertyLists.Unreadable { refused += 1 }
      }
    }
    #expect(refused > 100)
  }

  private func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
