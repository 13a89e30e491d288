// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// A VFS that reads ahead when SQLite reads the pages of a database file sequentially.
///
/// SQLite reads one page per system call: ten thousand calls for a table of 40 MB, which take most of the time of a
/// full table scan. This VFS wraps SQLite's default VFS, reads ahead, and otherwise forwards every call.
///
/// The buffer is valid while SQLite holds its locks: meanwhile, other connections can only change pages that this
/// reader takes from the write-ahead log. The buffer is discarded whenever a lock changes and at every write.
enum DatabaseReadAhead {
  /// The name of the VFS to open databases with; nil, for SQLite's default VFS, if this one cannot be installed.
  static let name: String? = install()

  private static func install() -> String? {
    guard let found = sqlite3_vfs_find(nil), found.pointee.iVersion >= 2 else { return nil }
    let name = "opencoredata"
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: fileMethods())
    let installation = UnsafeMutablePointer<Installation>.allocate(capacity: 1)
    installation.initialize(to: Installation(own: found, fileMethods: UnsafePointer(methods)))
    var made = sqlite3_vfs()
    made.iVersion = 2
    made.szOsFile = found.pointee.szOsFile + Int32(File.stride)
    made.mxPathname = found.pointee.mxPathname
    // SQLite keeps the pointer, so the name is never freed.
    made.zName = UnsafePointer(strdup(name))
    made.pAppData = UnsafeMutableRawPointer(installation)
    made.xOpen = { open($0, $1, $2, $3, $4) }
    made.xDelete = { own($0)?.pointee.xDelete?(own($0), $1, $2) ?? SQLITE_MISUSE }
    made.xAccess = { own($0)?.pointee.xAccess?(own($0), $1, $2, $3) ?? SQLITE_MISUSE }
    made.xFullPathname = { own($0)?.pointee.xFullPathname?(own($0), $1, $2, $3) ?? SQLITE_MISUSE }
    made.xDlOpen = { own($0)?.pointee.xDlOpen?(own($0), $1) }
    made.xDlError = { own($0)?.pointee.xDlError?(own($0), $1, $2) }
    made.xDlSym = { own($0)?.pointee.xDlSym?(own($0), $1, $2) }
    made.xDlClose = { own($0)?.pointee.xDlClose?(own($0), $1) }
    made.xRandomness = { own($0)?.pointee.xRandomness?(own($0), $1, $2) ?? 0 }
    made.xSleep = { own($0)?.pointee.xSleep?(own($0), $1) ?? 0 }
    made.xCurrentTime = { own($0)?.pointee.xCurrentTime?(own($0), $1) ?? SQLITE_MISUSE }
    made.xGetLastError = { own($0)?.pointee.xGetLastError?(own($0), $1, $2) ?? 0 }
    made.xCurrentTimeInt64 = { own($0)?.pointee.xCurrentTimeInt64?(own($0), $1) ?? SQLITE_MISUSE }
    let pointer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    pointer.initialize(to: made)
    return sqlite3_vfs_register(pointer, 0) == SQLITE_OK ? name : nil
  }
}

/// The size of the read-ahead buffer in bytes.
private let size = 64 << 10
/// The number of consecutive sequential reads after which to read ahead.
private let longEnough: Int32 = 4
/// The number of pages that sequential reads may skip: pages of other tables and interior pages.
private let pagesLeftOut: Int64 = 3

/// A database file, allocated by SQLite. The file of the default VFS follows it in memory.
private struct File {
  /// The part that SQLite accesses. Must come first.
  var base: sqlite3_file
  /// The read-ahead buffer, which holds `length` bytes from the offset `start`; nil before the first use.
  var bytes: UnsafeMutableRawPointer?
  var start: Int64
  var length: Int64
  /// The offset of the end of the last read.
  var end: Int64
  /// The number of sequential reads so far, up to `longEnough`.
  var run: Int32

  /// The size in bytes, rounded up so that the following file is aligned.
  static let stride = (MemoryLayout<File>.size + 15) & ~15
}

private typealias FilePointer = UnsafeMutablePointer<sqlite3_file>

private func file(_ pointer: FilePointer?) -> UnsafeMutablePointer<File> {
  UnsafeMutableRawPointer(pointer.unsafelyUnwrapped).assumingMemoryBound(to: File.self)
}

/// Returns the file of the default VFS.
private func inner(_ pointer: FilePointer?) -> FilePointer {
  (UnsafeMutableRawPointer(pointer.unsafelyUnwrapped) + File.stride).assumingMemoryBound(to: sqlite3_file.self)
}

private func methods(_ pointer: FilePointer) -> UnsafePointer<sqlite3_io_methods> {
  pointer.pointee.pMethods.unsafelyUnwrapped
}

/// Discards the buffer.
private func drop(_ pointer: FilePointer?) { file(pointer).pointee.length = 0 }

// MARK: Reading

private func read(
  _ pointer: FilePointer?, _ target: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
) -> Int32 {
  let file = file(pointer)
  let (end, start) = (offset + Int64(count), file.pointee.start)
  let follows = offset >= file.pointee.end && offset - file.pointee.end <= pagesLeftOut * Int64(count)
  file.pointee.end = end
  if offset >= start, end <= start + file.pointee.length, let bytes = file.pointee.bytes, let target {
    target.copyMemory(from: bytes + Int(offset - start), byteCount: Int(count))
    return SQLITE_OK
  }
  file.pointee.run = follows ? min(file.pointee.run + 1, longEnough) : 0
  if file.pointee.run == longEnough, Int(count) < size, let target, readAhead(pointer, from: offset),
    let bytes = file.pointee.bytes
  {
    target.copyMemory(from: bytes, byteCount: Int(count))
    return SQLITE_OK
  }
  let inner = inner(pointer)
  return methods(inner).pointee.xRead.unsafelyUnwrapped(inner, target, count, offset)
}

/// Fills the buffer from an offset.
///
/// - Returns: false if that failed, for example near the end of the file. The caller then reads a single page, which
///   reports any error.
private func readAhead(_ pointer: FilePointer?, from offset: Int64) -> Bool {
  let (file, inner) = (file(pointer), inner(pointer))
  file.pointee.length = 0
  guard let bytes = file.pointee.bytes ?? malloc(size) else { return false }
  file.pointee.bytes = bytes
  let result = methods(inner).pointee.xRead.unsafelyUnwrapped(inner, bytes, Int32(size), offset)
  guard result == SQLITE_OK else {
    file.pointee.run = 0
    return false
  }
  (file.pointee.start, file.pointee.length) = (offset, Int64(size))
  return true
}

// MARK: Forwarded calls

/// Returns the methods of a database file, up to version 3 of `sqlite3_io_methods`.
private func fileMethods() -> sqlite3_io_methods {
  var made = sqlite3_io_methods()
  made.iVersion = 3
  made.xClose = { pointer in
    free(file(pointer).pointee.bytes)
    file(pointer).pointee.bytes = nil
    let inner = inner(pointer)
    return methods(inner).pointee.xClose.unsafelyUnwrapped(inner)
  }
  made.xRead = { read($0, $1, $2, $3) }
  made.xWrite = { pointer, bytes, count, offset in
    drop(pointer)
    let inner = inner(pointer)
    return methods(inner).pointee.xWrite.unsafelyUnwrapped(inner, bytes, count, offset)
  }
  made.xTruncate = { pointer, size in
    drop(pointer)
    let inner = inner(pointer)
    return methods(inner).pointee.xTruncate.unsafelyUnwrapped(inner, size)
  }
  made.xSync = { pointer, flags in
    let inner = inner(pointer)
    return methods(inner).pointee.xSync.unsafelyUnwrapped(inner, flags)
  }
  made.xFileSize = { pointer, size in
    let inner = inner(pointer)
    return methods(inner).pointee.xFileSize.unsafelyUnwrapped(inner, size)
  }
  made.xLock = { pointer, level in
    drop(pointer)
    let inner = inner(pointer)
    return methods(inner).pointee.xLock.unsafelyUnwrapped(inner, level)
  }
  made.xUnlock = { pointer, level in
    drop(pointer)
    let inner = inner(pointer)
    return methods(inner).pointee.xUnlock.unsafelyUnwrapped(inner, level)
  }
  made.xCheckReservedLock = { pointer, answer in
    let inner = inner(pointer)
    return methods(inner).pointee.xCheckReservedLock.unsafelyUnwrapped(inner, answer)
  }
  made.xFileControl = { pointer, operation, argument in
    let inner = inner(pointer)
    return methods(inner).pointee.xFileControl.unsafelyUnwrapped(inner, operation, argument)
  }
  made.xSectorSize = { pointer in
    let inner = inner(pointer)
    return methods(inner).pointee.xSectorSize.unsafelyUnwrapped(inner)
  }
  made.xDeviceCharacteristics = { pointer in
    let inner = inner(pointer)
    return methods(inner).pointee.xDeviceCharacteristics.unsafelyUnwrapped(inner)
  }
  made.xShmMap = { pointer, region, size, extends, address in
    let inner = inner(pointer)
    return methods(inner).pointee.xShmMap.unsafelyUnwrapped(inner, region, size, extends, address)
  }
  made.xShmLock = { pointer, offset, count, flags in
    drop(pointer)
    let inner = inner(pointer)
    return methods(inner).pointee.xShmLock.unsafelyUnwrapped(inner, offset, count, flags)
  }
  made.xShmBarrier = { pointer in
    let inner = inner(pointer)
    methods(inner).pointee.xShmBarrier.unsafelyUnwrapped(inner)
  }
  made.xShmUnmap = { pointer, deletes in
    let inner = inner(pointer)
    return methods(inner).pointee.xShmUnmap.unsafelyUnwrapped(inner, deletes)
  }
  made.xFetch = { pointer, offset, count, address in
    let inner = inner(pointer)
    return methods(inner).pointee.xFetch.unsafelyUnwrapped(inner, offset, count, address)
  }
  made.xUnfetch = { pointer, offset, address in
    let inner = inner(pointer)
    return methods(inner).pointee.xUnfetch.unsafelyUnwrapped(inner, offset, address)
  }
  return made
}

/// The default VFS and the methods of database files. Allocated once and never freed.
private struct Installation {
  let own: UnsafeMutablePointer<sqlite3_vfs>
  let fileMethods: UnsafePointer<sqlite3_io_methods>
}

private func installation(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> Installation? {
  vfs?.pointee.pAppData?.assumingMemoryBound(to: Installation.self).pointee
}

private func own(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs>? {
  installation(vfs)?.own
}

/// Opens a file. Logs, journals and temporary files are opened by the default VFS alone.
private func open(
  _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ pointer: FilePointer?, _ flags: Int32,
  _ outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let installation = installation(vfs), let open = installation.own.pointee.xOpen, let pointer else {
    return SQLITE_MISUSE
  }
  let own = installation.own
  if flags & SQLITE_OPEN_MAIN_DB == 0 { return open(own, path, pointer, flags, outFlags) }
  file(pointer).initialize(to: File(base: sqlite3_file(), bytes: nil, start: 0, length: 0, end: 0, run: 0))
  let inner = inner(pointer)
  inner.pointee.pMethods = nil
  let result = open(own, path, inner, flags, outFlags)
  guard let methods = inner.pointee.pMethods else { return result }
  // SQLite closes a file with methods even if it could not be opened.
  if methods.pointee.iVersion >= 3, methods.pointee.xShmMap != nil, methods.pointee.xFetch != nil {
    pointer.pointee.pMethods = installation.fileMethods
    return result
  }
  _ = methods.pointee.xClose.unsafelyUnwrapped(inner)
  return open(own, path, pointer, flags, outFlags)
}
