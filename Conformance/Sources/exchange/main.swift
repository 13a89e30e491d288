// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// `exchange write DIR` writes stores and what is in them; `exchange read DIR` opens them and compares. One of the two can
/// run with Apple's framework and the other with OpenCoreData (README.md).
let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let command = arguments.first, ["write", "read"].contains(command) else {
  print("usage: exchange write DIR | exchange read DIR")
  exit(2)
}
let directory = URL(fileURLWithPath: arguments.last ?? "", isDirectory: true)
do {
  if command == "write" {
    let manifest = try Writer(directory: directory).write()
    print("\(manifest.stores.count) stores were written by \(manifest.framework) into \(directory.path).")
  } else {
    let reader = try Reader(directory: directory)
    let differences = reader.read()
    for difference in differences { print(difference) }
    let stores = "\(reader.manifest.stores.count) stores of \(reader.manifest.framework)"
    if differences.isEmpty {
      print("\(stores) hold what their manifest says, for \(Manifest.ownFramework) too, and can be added to.")
    } else {
      print("\(stores): \(differences.count) differences for \(Manifest.ownFramework).")
      exit(1)
    }
  }
} catch {
  print("exchange \(command): \(error)")
  exit(2)
}
