// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// A row as the bytes of its columns, which are decoded on access.
///
/// Most objects returned by a fetch are never read, or only a few of their properties are. A single allocation holds
/// the whole row, and no strings or identifiers are created for it. Immutable, so it may be used on any thread.
///
/// The bytes are a tag for each slot, then eight aligned bytes for each slot, then the contents of strings and BLOBs.
/// For a value that does not fit into eight bytes, these are the offset and the length of its contents.
package final class PackedRow: ManagedBuffer<PackedRow.Header, UInt8> {
  package struct Header {
    package let layout: RowLayout
    package let primaryKey: Int64
    package let version: Int64
    /// The slots that are not stored as bytes.
    package let others: [Slot]
  }

  fileprivate enum Tag: UInt8 {
    case null, unread, integer, boolean, double, float, date, string, data, archived, uuid, toOne, other
  }

  /// The location of a slot's contents.
  fileprivate struct Extent: BitwiseCopyable {
    let offset: UInt32
    let length: UInt32
  }

  /// The destination of a to-one relationship. If its object is registered, no identifier is needed.
  package struct Destination {
    package let key: ObjectKey
    fileprivate let identities: RowIdentities
    fileprivate let entity: Int

    /// The entity of the identifier; nil as for `identifier()`.
    package var entityDescription: NSEntityDescription? { identities.description(entity: entity) }

    /// Creates the identifier; nil for an unknown entity, which `RowPacker` does not pack.
    package func identifier() -> NSManagedObjectID? { identities.id(entity: entity, primaryKey: key.number) }

    /// Returns the layout of the destination's row; nil as for `identifier()`.
    ///
    /// - Parameter last: the layout of another destination, which is usually the same.
    package func layout(last: RowLayout?) -> RowLayout? {
      if let last, last.identities === identities, last.number == entity { return last }
      return entityDescription.map { RowLayout(entity: $0, number: entity, identities: identities) }
    }
  }

  // `header` would check each access for exclusivity, although nothing changes it.
  package var key: ObjectKey { withUnsafeMutablePointerToHeader { $0.pointee.layout.key($0.pointee.primaryKey) } }
  package var layout: RowLayout { withUnsafeMutablePointerToHeader { $0.pointee.layout } }
  package var primaryKey: Int64 { withUnsafeMutablePointerToHeader { $0.pointee.primaryKey } }
  package var version: Int64 { withUnsafeMutablePointerToHeader { $0.pointee.version } }

  /// The slots, in the order of the entity's `SlotTable`.
  package var slots: [Slot] { (0..<header.layout.table.count).map { slot(at: $0) } }

  /// The slots that are not stored as bytes.
  var slotsOfObjects: [Slot] { withUnsafeMutablePointerToHeader { $0.pointee.others } }

  /// Returns whether a slot equals another one.
  package func isSame(as slot: Slot, at position: Int) -> Bool {
    guard case .string(var text) = slot else { return self.slot(at: position).isSame(as: slot) }
    return withUnsafeMutablePointers { header, elements in
      let cell = Cell(UnsafeRawPointer(elements), header.pointee.layout.table.count, position)
      switch cell.tag {
      case .string:
        let contents = cell.contents
        return text.withUTF8 { $0.count == contents.count && $0.elementsEqual(contents) }
      case .other: return header.pointee.others[Int(cell.number)].isSame(as: slot)
      default: return false
      }
    }
  }

  /// Returns the row with the same values and another version.
  package func copy(version: Int64) -> PackedRow {
    let size = capacity
    let made = PackedRow.create(minimumCapacity: size) { [header] _ in
      Header(layout: header.layout, primaryKey: header.primaryKey, version: version, others: header.others)
    }
    withUnsafeMutablePointerToElements { bytes in
      made.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0).copyMemory(from: bytes, byteCount: size) }
    }
    return unsafeDowncast(made, to: PackedRow.self)
  }

  /// Decodes a slot.
  package func slot(at position: Int) -> Slot {
    withUnsafeMutablePointers { header, elements in
      let cell = Cell(UnsafeRawPointer(elements), header.pointee.layout.table.count, position)
      switch cell.tag {
      case .null: return .null
      case .unread: return .unread
      case .integer: return .integer(cell.number)
      case .boolean: return .boolean(cell.number != 0)
      case .double: return .double(cell.real)
      case .float: return .float(Float(cell.real))
      case .date: return .date(cell.real)
      case .string: return .string(String(decoding: cell.contents, as: UTF8.self))
      case .data: return .data(Data(cell.contents))
      case .archived: return .archived(Data(cell.contents))
      case .uuid: return .uuid(UUID(uuid: cell.contents.loadUnaligned(as: uuid_t.self)))
      case .toOne: return cell.destination(header.pointee.layout).identifier().map { .toOne($0) } ?? .null
      case .other: return header.pointee.others[Int(cell.number)]
      }
    }
  }

  /// Returns whether a slot is an unread relationship.
  package func isUnread(at position: Int) -> Bool {
    withUnsafeMutablePointers { header, elements in
      Cell(UnsafeRawPointer(elements), header.pointee.layout.table.count, position).tag == .unread
    }
  }

  /// Returns the destination of a to-one relationship; nil if there is none, and for any other slot.
  package func destination(at position: Int) -> Destination? {
    withUnsafeMutablePointers { header, elements in
      let cell = Cell(UnsafeRawPointer(elements), header.pointee.layout.table.count, position)
      return cell.tag == .toOne ? cell.destination(header.pointee.layout) : nil
    }
  }

  /// Begins a row with the same values and some changes.
  fileprivate func repack(into packer: RowPacker, _ changes: SlotChanges) {
    withUnsafeMutablePointers { header, elements in
      let count = header.pointee.layout.table.count
      packer.begin(slotCount: count)
      for position in 0..<count {
        if let slot = changes[position] {
          packer.pack(value: slot, at: position)
          continue
        }
        let cell = Cell(UnsafeRawPointer(elements), count, position)
        switch cell.tag {
        case .null: continue
        case .unread: packer.packUnread(at: position)
        case .integer, .boolean, .double, .float, .date: packer.put(cell.number, cell.tag, position)
        case .string, .data, .archived, .uuid, .toOne:
          if !packer.pack(cell.contents, cell.tag, position) { packer.pack(slot(at: position), at: position) }
        case .other: packer.pack(header.pointee.others[Int(cell.number)], at: position)
        }
      }
    }
  }

  /// The approximate size of the row in memory, in bytes.
  package var size: Int {
    header.others.reduce(capacity) { size, slot in
      switch slot {
      case .string(let text): size + text.utf8.count
      case .data(let data), .archived(let data): size + data.count
      default: size
      }
    }
  }

  /// The location of a slot's bytes.
  private struct Cell {
    let start: UnsafeRawPointer
    let address: UnsafeRawPointer
    let tag: Tag

    init(_ start: UnsafeRawPointer, _ count: Int, _ position: Int) {
      self.start = start
      address = start + RowPacker.cellsOffset(count) + position * RowPacker.cellSize
      // The packer has written the tag.
      tag = Tag(rawValue: start.load(fromByteOffset: position, as: UInt8.self)) ?? .null
    }

    var number: Int64 { address.loadUnaligned(as: Int64.self) }
    var real: Double { address.loadUnaligned(as: Double.self) }

    var contents: UnsafeRawBufferPointer {
      let extent = address.loadUnaligned(as: Extent.self)
      return UnsafeRawBufferPointer(start: start + Int(extent.offset), count: Int(extent.length))
    }

    func destination(_ layout: RowLayout) -> Destination {
      let contents = contents
      let (key, entity) = (
        contents.loadUnaligned(as: Int64.self), contents.loadUnaligned(fromByteOffset: 8, as: Int64.self)
      )
      return Destination(
        key: layout.identities.key(entity: Int(entity), primaryKey: key), identities: layout.identities,
        entity: Int(entity))
    }
  }
}

/// Collects the bytes of rows, from which `PackedRow`s are created later, possibly on another thread. The buffer is
/// reused.
package final class RowPacker {
  fileprivate static let cellSize = 8
  /// The maximum size of contents, in bytes. Larger contents are kept as a slot.
  private static let largestContents = 1 << 20

  fileprivate static func cellsOffset(_ count: Int) -> Int { (count + 7) & ~7 }

  private struct Row {
    let start: Int
    let end: Int
    let primaryKey: Int64
    let version: Int64
    /// The index in `layouts`.
    let layout: Int
    /// The index after the row's last slot in `others`.
    let othersEnd: Int
  }

  // Only one thread at a time uses a packer.
  @exclusivity(unchecked) private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 16)
  @exclusivity(unchecked) private var rows: ContiguousArray<Row> = []
  /// The layouts of the rows, with the number of the last row's entity. Without rows, one may be kept for reuse.
  @exclusivity(unchecked) private var layouts: [RowLayout] = []
  @exclusivity(unchecked) private var lastEntity = -1
  /// The slots of all rows that are not stored as bytes.
  @exclusivity(unchecked) private var others: [Slot] = []
  // The row that is being packed.
  @exclusivity(unchecked) private var start = 0
  @exclusivity(unchecked) private var length = 0
  @exclusivity(unchecked) private var slotCount = 0

  package init() {}

  deinit { buffer.deallocate() }

  /// The number of rows.
  package var count: Int { rows.count }

  /// The size of the rows, in bytes.
  package var size: Int { rows.last?.end ?? 0 }

  /// Removes all rows.
  package func removeAll() {
    rows.removeAll(keepingCapacity: true)
    // The next rows usually have the same layout.
    if layouts.count > 1 { layouts.removeAll(keepingCapacity: true) }
    lastEntity = -1
    if !others.isEmpty { others = [] }
  }

  /// Begins a row with null in all slots. A row that has not been ended is dropped.
  package func begin(slotCount: Int) {
    self.slotCount = slotCount
    if others.count > othersCount { others.removeLast(others.count - othersCount) }
    length = size
    start = (length + 7) & ~7
    let cells = Self.cellsOffset(slotCount) + slotCount * Self.cellSize
    reserve(start + cells)
    if let base = buffer.baseAddress { (base + start).initializeMemory(as: UInt8.self, repeating: 0, count: cells) }
    length = start + cells
  }

  /// Ends a row.
  ///
  /// - Parameters:
  ///   - entity: the number of the row's entity in the store.
  ///   - layout: returns the layout of the entity's rows; not called if it is that of the previous row.
  package func end(
    primaryKey: Int64, version: Int64, entity: Int, layout: () throws -> RowLayout
  ) rethrows {
    if entity != lastEntity {
      let layout = try layout()
      if rows.isEmpty, layouts.first !== layout { layouts.removeAll(keepingCapacity: true) }
      if layouts.last !== layout { layouts.append(layout) }
      lastEntity = entity
    }
    rows.append(
      Row(
        start: start, end: length, primaryKey: primaryKey, version: version, layout: layouts.count - 1,
        othersEnd: others.count))
  }

  /// Creates one of the rows.
  package func row(at index: Int) -> PackedRow {
    let row = rows[index]
    let firstOther = index > 0 ? rows[index - 1].othersEnd : 0
    let others = firstOther < row.othersEnd ? Array(self.others[firstOther..<row.othersEnd]) : []
    let size = row.end - row.start
    let made = PackedRow.create(minimumCapacity: size) { [layouts] _ in
      PackedRow.Header(
        layout: layouts[row.layout], primaryKey: row.primaryKey, version: row.version, others: others)
    }
    made.withUnsafeMutablePointerToElements { elements in
      guard let base = buffer.baseAddress else { return }
      UnsafeMutableRawPointer(elements).copyMemory(from: base + row.start, byteCount: size)
    }
    return unsafeDowncast(made, to: PackedRow.self)
  }

  /// Creates another version of a row. The packer must have no rows.
  package func row(_ old: PackedRow, version: Int64, changes: SlotChanges) -> PackedRow {
    if changes.isEmpty { return old.copy(version: version) }
    old.repack(into: self, changes)
    defer { removeAll() }
    let layout = old.layout
    end(primaryKey: old.primaryKey, version: version, entity: layout.number) { layout }
    return row(at: 0)
  }

  /// Creates all rows.
  package func snapshots() -> [RowSnapshot] {
    if Optimization.packedRows.isOn { return rows.indices.map { RowSnapshot(row(at: $0)) } }
    return rows.indices.map { index in
      let row = row(at: index)
      return RowSnapshot(id: row.layout.identifier(row.primaryKey), version: row.version, slots: row.slots)
    }
  }

  /// The number of slots in `others` that belong to finished rows.
  private var othersCount: Int { rows.last?.othersEnd ?? 0 }

  package func packUnread(at position: Int) { mark(position, .unread) }

  package func pack(integer value: Int64, at position: Int) { put(value, .integer, position) }

  package func pack(boolean value: Bool, at position: Int) { put(value ? 1 as Int64 : 0, .boolean, position) }

  package func pack(double value: Double, at position: Int) { put(value, .double, position) }

  package func pack(float value: Float, at position: Int) { put(Double(value), .float, position) }

  package func pack(date value: Double, at position: Int) { put(value, .date, position) }

  package func pack(string bytes: UnsafeRawBufferPointer, at position: Int) {
    if !pack(bytes, .string, position) { pack(.string(String(decoding: bytes, as: UTF8.self)), at: position) }
  }

  package func pack(data bytes: UnsafeRawBufferPointer, at position: Int) {
    if !pack(bytes, .data, position) { pack(.data(Data(bytes)), at: position) }
  }

  package func pack(archived bytes: UnsafeRawBufferPointer, at position: Int) {
    if !pack(bytes, .archived, position) { pack(.archived(Data(bytes)), at: position) }
  }

  /// Packs sixteen bytes.
  package func pack(uuid bytes: UnsafeRawBufferPointer, at position: Int) { _ = pack(bytes, .uuid, position) }

  package func pack(destination key: Int64, entity: Int, at position: Int) {
    withUnsafeBytes(of: (key, Int64(entity))) { _ = pack($0, .toOne, position) }
  }

  /// Keeps a slot without packing it.
  package func pack(_ slot: Slot, at position: Int) {
    put(Int64(others.count - othersCount), .other, position)
    others.append(slot)
  }

  /// Packs a slot in the form in which it is read from a store.
  fileprivate func pack(value slot: Slot, at position: Int) {
    switch slot {
    case .null: mark(position, .null)
    case .integer(let value): pack(integer: value, at: position)
    case .boolean(let value): pack(boolean: value, at: position)
    case .double(let value): pack(double: value, at: position)
    case .float(let value): pack(float: value, at: position)
    case .date(let value): pack(date: value, at: position)
    case .string(var text): text.withUTF8 { pack(string: UnsafeRawBufferPointer($0), at: position) }
    default: pack(slot, at: position)
    }
  }

  @inline(__always)
  private func mark(_ position: Int, _ tag: PackedRow.Tag) { buffer[start + position] = tag.rawValue }

  @inline(__always)
  fileprivate func put<Value: BitwiseCopyable>(_ value: Value, _ tag: PackedRow.Tag, _ position: Int) {
    mark(position, tag)
    buffer.storeBytes(
      of: value, toByteOffset: start + Self.cellsOffset(slotCount) + position * Self.cellSize, as: Value.self)
  }

  /// - Returns: false if there are too many bytes.
  fileprivate func pack(_ bytes: UnsafeRawBufferPointer, _ tag: PackedRow.Tag, _ position: Int) -> Bool {
    guard bytes.count <= Self.largestContents, length - start <= Int(UInt32.max) - bytes.count else { return false }
    reserve(length + bytes.count)
    put(PackedRow.Extent(offset: UInt32(length - start), length: UInt32(bytes.count)), tag, position)
    if let source = bytes.baseAddress, let start = buffer.baseAddress {
      (start + length).copyMemory(from: source, byteCount: bytes.count)
    }
    length += bytes.count
    return true
  }

  @inline(__always)
  private func reserve(_ size: Int) { if size > buffer.count { grow(to: size) } }

  private func grow(to size: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, buffer.count * 2), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<length]))
    buffer.deallocate()
    buffer = larger
  }
}

/// The rows of a query, in order. Packing several of them before creating objects is faster than one by one.
package struct RowCollection {
  /// The number of rows packed together.
  private static let partSize = 256

  private let packer = RowPacker()
  private var made: [RowSnapshot] = []

  package init() {}

  package var count: Int { made.count + packer.count }

  package mutating func reserveCapacity(_ count: Int) { made.reserveCapacity(count) }

  /// Adds the row packed by a body. A row that it has not ended, because it throws, is left out.
  package mutating func add(_ pack: (RowPacker) throws -> Void) rethrows {
    try pack(packer)
    if packer.count >= Self.partSize { makeRows() }
  }

  /// Returns all rows.
  package mutating func rows() -> [RowSnapshot] {
    makeRows()
    return made
  }

  private mutating func makeRows() {
    made += packer.snapshots()
    packer.removeAll()
  }
}

/// The common layout of an entity's packed rows.
package final class RowLayout: Sendable {
  package let entity: NSEntityDescription
  package let table: SlotTable
  package let identities: RowIdentities
  /// The entity's number in the store.
  fileprivate let number: Int
  private let root: UInt32

  package init(entity: NSEntityDescription, number: Int, identities: RowIdentities) {
    self.entity = entity
    self.number = number
    self.identities = identities
    table = entity.slotTable
    root = identities.key(entity: number, primaryKey: 0).root
  }

  package func key(_ primaryKey: Int64) -> ObjectKey {
    ObjectKey(store: identities.store, root: root, number: primaryKey)
  }

  /// Creates the identifier of a row.
  package func identifier(_ primaryKey: Int64) -> NSManagedObjectID {
    NSManagedObjectID(entity: entity, key: key(primaryKey), store: identities.reference)
  }
}

/// Creates the identifiers of a store's rows. Immutable, so that rows may be decoded on any thread.
package final class RowIdentities: Sendable {
  /// The facts about an entity that every row needs.
  package struct Member: Sendable {
    package let root: Int
    package let description: NSEntityDescription?
    /// The number of the table's only entity; 0 if there are several.
    package let only: Int
  }

  /// The store's number in this process.
  package let store: UInt32
  package let reference: StoreReference
  /// The entities, by number.
  private let members: [Member?]

  package init(store: UInt32, reference: StoreReference, members: [Member?]) {
    self.store = store
    self.reference = reference
    self.members = members
  }

  /// Returns the key of a row of a known entity.
  package func key(entity number: Int, primaryKey: Int64) -> ObjectKey {
    let root = members.indices.contains(number) ? members[number]?.root ?? 0 : 0
    return ObjectKey(store: store, root: UInt32(root), number: primaryKey)
  }

  /// Returns the description of an entity; nil for an unknown number.
  package func description(entity number: Int) -> NSEntityDescription? {
    members.indices.contains(number) ? members[number]?.description : nil
  }

  /// Returns the identifier of a row; nil for an unknown entity number.
  package func id(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    guard members.indices.contains(number), let member = members[number], let description = member.description
    else { return nil }
    return NSManagedObjectID(
      entity: description, key: ObjectKey(store: store, root: UInt32(member.root), number: primaryKey),
      store: reference)
  }

  /// Returns the identifiers of rows of an entity; empty for an unknown entity.
  package func ids(entity number: Int, primaryKeys: some Collection<Int64>) -> [NSManagedObjectID] {
    guard members.indices.contains(number), let member = members[number], let description = member.description
    else { return [] }
    let root = UInt32(member.root)
    return primaryKeys.map {
      NSManagedObjectID(
        entity: description, key: ObjectKey(store: store, root: root, number: $0), store: reference)
    }
  }
}
