// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Reads the localized names of a model: of `<Model>Model.strings`, or else `<Model>.strings`, in the folder of the
  /// user's language beside the model, or else beside the model itself. An addition to Apple's interface.
  ///
  /// Models that are read have these words as their `localizationDictionary`; where this throws, they have none.
  /// - Parameter url: where the model is.
  /// - Returns: nil where there is no such file.
  /// - Throws: 259 for a file that is neither a property list nor lines of `"key" = "value";`, or has other values than
  ///   texts.
  public static func localizationDictionary(forModelAt url: URL) throws -> [String: String]? {
    let folder = url.deletingLastPathComponent()
    let name = url.deletingPathExtension().lastPathComponent
    for place in localizedFolders(in: folder) {
      for file in ["\(name)Model.strings", "\(name).strings"].map(place.appendingPathComponent)
      where FileManager.default.fileExists(atPath: file.path) {
        return try strings(at: file)
      }
    }
    return nil
  }

  /// The folder of the language that the user likes best of those there are, the base language, and the folder itself.
  private static func localizedFolders(in folder: URL) -> [URL] {
    // Whoever cannot list a folder can have no language chosen from it.
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let languages = files.filter { $0.hasSuffix(".lproj") }.map { String($0.dropLast(6)) }.sorted()
    let real = languages.filter { $0 != "Base" }
    let preferred = Bundle.preferredLocalizations(from: real, forPreferences: Locale.preferredLanguages)
    let list = (preferred + ["Base"]).filter(languages.contains)
    return list.map { folder.appendingPathComponent("\($0).lproj", isDirectory: true) } + [folder]
  }

  private static func strings(at url: URL) throws -> [String: String] {
    do {
      return try StringsFile.words(in: ModelFile.read(url))
    } catch let error as PropertyLists.Unreadable {
      throw ModelErrors.unreadableStrings(url, reason: error.description, underlying: error)
    } catch let error as ModelFileError {
      throw ModelErrors.unreadableStrings(url, reason: error.found, underlying: error)
    }
  }
}
