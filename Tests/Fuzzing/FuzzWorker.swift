// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzingSupport

/// Runs inputs one after the other, and reports its progress to the supervisor in files. A crash ends it.
struct FuzzWorker {
  let kind: FuzzKind
  let seeds: Range<UInt64>
  let options: FuzzOptions
  let directory: URL

  init(_ options: FuzzOptions) throws {
    guard let directory = options.directory, let kind = options.kinds.first, let count = options.count else {
      throw FuzzOptions.Mistake("--work and --save need --kind and --count.")
    }
    self.options = options
    self.directory = directory
    self.kind = kind
    seeds = options.seed..<(options.seed + count)
  }

  func run() throws {
    guard let progress = fuzzingProgress(directory.appendingPathComponent("progress").path) else {
      throw FuzzOptions.Mistake("The file for the progress cannot be mapped.")
    }
    if !FuzzLimits.isSanitized { fuzzingReportCrashes() }
    if FuzzLimits.addressSpace != 0 { fuzzingLimitMemory(FuzzLimits.addressSpace) }
    let lab = try FuzzLab(
      directory: directory.appendingPathComponent("lab"), corpus: options.corpus, fixtures: options.fixtures)
    let runner = try kind.runner(lab)
    var keeper = try KeptInputs(options.output.appendingPathComponent("corpus"), kind)
    var (accepted, refused) = (0, 0)
    for seed in seeds {
      var random = FuzzRandom(seed: seed, kind: kind)
      fuzzingBegin(progress, seed)
      fuzzingLimitTime(Int32(FuzzLimits.seconds))
      var input = FuzzInput(files: [:])
      var result: String
      do {
        // SQLite refuses to create some stores. Skip them.
        input = try runner.input(&random)
        result = try runner.run(input, &random)
        accepted += 1
      } catch let broken as Broken {
        say("broken \(seed) \(broken.description.replacingOccurrences(of: "\n", with: " "))")
        result = "broken"
      } catch {
        result = ErrorText.of(error)
        refused += 1
      }
      try keeper.note(result, input)
      let peak = fuzzingPeakMemory()
      if peak > FuzzLimits.memory, !FuzzLimits.isSanitized {
        // The peak never decreases, so the next inputs need a new process.
        say("memory \(seed) \(peak >> 20)")
        say("counts \(accepted) \(refused)")
        return
      }
    }
    fuzzingLimitTime(0)
    say("counts \(accepted) \(refused)")
    say("end")
  }

  /// Writes the input with the first seed to the directory.
  func save() throws {
    let lab = try FuzzLab(
      directory: FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(UUID().uuidString)"),
      corpus: options.corpus, fixtures: options.fixtures)
    defer { try? FileManager.default.removeItem(at: lab.directory) }
    var random = FuzzRandom(seed: seeds.lowerBound, kind: kind)
    let input = try kind.runner(lab).input(&random)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try input.write(to: directory)
    for note in input.notes { say(note) }
  }

  private func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}

/// Inputs with a new result, for the corpus.
struct KeptInputs {
  private let directory: URL
  private var seen: Set<String>
  /// The size above which inputs are not kept.
  private static let sizeLimit = 4_096
  private static let countLimit = 200

  init(_ directory: URL, _ kind: FuzzKind) throws {
    self.directory = directory.appendingPathComponent(kind.rawValue)
    try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
    seen = Set(try FileManager.default.contentsOfDirectory(atPath: self.directory.path))
  }

  mutating func note(_ result: String, _ input: FuzzInput) throws {
    guard input.isOurs, input.size <= Self.sizeLimit, seen.count < Self.countLimit else { return }
    let name = Self.name(of: result)
    guard seen.insert(name).inserted else { return }
    let target = directory.appendingPathComponent(name)
    // Another worker may have kept one in the meantime.
    guard !FileManager.default.fileExists(atPath: target.path) else { return }
    try input.write(to: target)
  }

  private static func name(of result: String) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in result.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return String(hash, radix: 16)
  }
}
