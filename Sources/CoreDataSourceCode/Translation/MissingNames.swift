// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// Names missing from Foundation on other systems, which the compiler does not find there.
enum MissingNames {
  /// Returns advice on a missing name; nil if the name exists.
  static func advice(on name: String) -> String? {
    if let advice = advice[name] { return "\(name) is not in Foundation on Linux. \(advice)" }
    guard names.contains(name) else { return nil }
    return "\(name) is not in Foundation on Linux. Put #if canImport(ObjectiveC) around what uses it."
  }

  private static let advice: [String: String] = [
    "autoreleasepool":
      "Nothing is autoreleased there: put #if canImport(ObjectiveC) around it, and call the body itself.",
    "CFAbsoluteTimeGetCurrent": "Use Date.timeIntervalSinceReferenceDate.",
    "CFUUIDCreate": "Use UUID().",
    "NSHashTable": "Keep weak references in a structure of your own.",
    "NSMapTable": "Keep weak references in a structure of your own.",
    "NSPointerArray": "Keep weak references in a structure of your own.",
    "OSAllocatedUnfairLock": "Use NSLock.",
    "os_unfair_lock": "Use NSLock.",
    "objc_sync_enter": "Use NSLock.",
    "objc_sync_exit": "Use NSLock.",
    "mach_absolute_time": "Use DispatchTime.now().",
    "NSStringFromSelector": "Write the name as a string.",
    "NSSelectorFromString": "Pass a closure instead, or call the method.",
    "Selector": "Pass a closure instead, or call the method.",
    "URLSession": "Import FoundationNetworking where it can be imported.",
  ]

  private static let names: Set<String> = [
    "CFRunLoopGetMain", "CFStringTransform", "DateComponentsFormatter", "ListFormatter", "MeasurementFormatter",
    "NSAppleScript", "NSBackgroundActivityScheduler", "NSBundleResourceRequest", "NSDataDetector", "NSException",
    "NSExtensionContext", "NSFileCoordinator", "NSFilePresenter", "NSFileVersion", "NSInvocation", "NSItemProvider",
    "NSLinguisticTagger", "NSMetadataQuery", "NSProxy", "NSUbiquitousKeyValueStore", "NSUserActivity",
    "NSXPCConnection",
    "PersonNameComponentsFormatter", "RelativeDateTimeFormatter", "kCFAllocatorDefault",
  ]
}

extension TranslationPass {
  /// Reports names that only Apple's Foundation has, once per file, and sets written as arrays.
  mutating func reportMissing(_ position: Int) {
    let name = file.words[position]
    if ["NSSet", "NSOrderedSet", "NSMutableSet", "NSMutableOrderedSet"].contains(name) {
      let next = file.word(position + 1) == "?" ? position + 2 : position + 1
      guard file.word(next) == "=", file.word(next + 1) == "[" else { return }
      return emit(
        .error, "An array literal is no \(name) without Objective-C. Write \(name)(array: […]).", at: position)
    }
    guard file.isWord(position), let text = MissingNames.advice(on: name), file.word(position - 1) != ".",
      file.word(position + 1) != ":", !program.declaresType(name),
      !(name == "URLSession" && file.words.contains("FoundationNetworking")), reported.insert(name).inserted
    else { return }
    // The translation of the whole expression removes the name.
    if name == "NSStringFromSelector", ["getter", "setter"].contains(file.word(position + 5)) { return }
    emit(.error, text, at: position)
  }
}
