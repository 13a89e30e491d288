// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Gives out names of tables and columns, each once: the second `ZVALUE` becomes `ZVALUE1`, the third `ZVALUE2`.
package struct NameRegister {
  private var taken: Set<String>

  package init(reserved: [String] = []) {
    taken = Set(reserved)
  }

  package mutating func unique(_ name: String) -> String {
    var candidate = name
    var suffix = 0
    while !taken.insert(candidate).inserted {
      suffix += 1
      candidate = name + String(suffix)
    }
    return candidate
  }
}
