// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzingSupport

/// Distributes inputs to workers, and records those that end a worker.
final class FuzzSupervisor {
  /// A range of inputs of one kind.
  private struct Task {
    let kind: FuzzKind
    let seeds: Range<UInt64>
  }

  private struct Worker {
    let process: pid_t
    let task: Task
    let directory: URL
    let progress: UnsafeMutableRawPointer
    let began = Date()
  }

  private struct Totals {
    var inputs: UInt64 = 0
    var accepted = 0
    var refused = 0
    var seconds = 0.0
  }

  private let options: FuzzOptions
  private let directory: URL
  private var tasks: [Task] = []
  private var workers: [Worker] = []
  private var totals: [FuzzKind: Totals] = [:]
  private var findings: FindingLog
  private var number = 0

  init(_ options: FuzzOptions) throws {
    self.options = options
    // In memory if possible, because there are many inputs and none is needed afterwards.
    let memory = "/dev/shm"
    let base =
      FileManager.default.isWritableFile(atPath: memory)
      ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    directory = base.appendingPathComponent("coredata-fuzz-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try FileManager.default.createDirectory(at: options.output, withIntermediateDirectories: true)
    findings = FindingLog(options)
  }

  /// - Returns: The number of different findings.
  func run() throws -> Int {
    defer { try? FileManager.default.removeItem(at: directory) }
    let began = Date()
    plan()
    setenv("TMPDIR", directory.path, 1)
    // Make the order of dictionaries the same in every run.
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    setenv("SWIFT_BACKTRACE", "enable=no", 1)
    print("Seed \(options.seed); fixtures: \(options.fixtures?.path ?? "none"); \(options.jobs) workers.")
    fuzzingNoteInterrupts()
    while !tasks.isEmpty || !workers.isEmpty {
      guard fuzzingIsInterrupted() == 0 else {
        for worker in workers {
          kill(worker.process, SIGKILL)
          // A batch can take minutes, and the inputs of those that are not complete were run, too.
          let done = fuzzingInput(worker.progress) - worker.task.seeds.lowerBound
          totals[worker.task.kind, default: Totals()].inputs += done
          totals[worker.task.kind, default: Totals()].seconds += Date().timeIntervalSince(worker.began)
        }
        break
      }
      while workers.count < options.jobs, let task = tasks.popLast() { try start(task) }
      for (index, worker) in workers.enumerated().reversed() {
        var child = FuzzingChild()
        if fuzzingEnded(worker.process, 0, &child) != 0 {
          workers.remove(at: index)
          try end(worker, child)
        } else if fuzzingAge(worker.progress) > FuzzLimits.patience {
          // Its end is recorded with the others.
          kill(worker.process, SIGKILL)
        }
      }
      usleep(5_000)
    }
    report(Date().timeIntervalSince(began))
    return findings.count
  }

  /// Divides the inputs into batches of alternating kinds, so that all kinds run early.
  private func plan() {
    var queues = options.kinds.map { kind in
      let count = options.count(of: kind)
      return stride(from: 0, to: count, by: Int(kind.batch)).map { start in
        Task(kind: kind, seeds: (options.seed + start)..<(options.seed + min(start + kind.batch, count)))
      }
    }
    while queues.contains(where: { !$0.isEmpty }) {
      for index in queues.indices where !queues[index].isEmpty { tasks.append(queues[index].removeFirst()) }
    }
    tasks.reverse()
  }

  private func start(_ task: Task) throws {
    number += 1
    let place = directory.appendingPathComponent("w\(number)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    guard let progress = fuzzingProgress(place.appendingPathComponent("progress").path) else {
      throw FuzzOptions.Mistake("The file for a worker's progress cannot be mapped.")
    }
    fuzzingBegin(progress, task.seeds.lowerBound)
    let process = CArguments.with(
      [Self.program] + options.forWorkers
        + [
          "--work", place.path, "--kind", task.kind.rawValue, "--seed", "\(task.seeds.lowerBound)", "--count",
          "\(task.seeds.count)",
        ]
    ) {
      fuzzingStart($0, place.appendingPathComponent("output").path, place.appendingPathComponent("errors").path, 0, 0)
    }
    guard process > 0 else { throw FuzzOptions.Mistake("A worker cannot be started.") }
    workers.append(Worker(process: process, task: task, directory: place, progress: progress))
  }

  static let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().path

  private func end(_ worker: Worker, _ child: FuzzingChild) throws {
    let output = String(
      decoding: try Data(contentsOf: worker.directory.appendingPathComponent("output")), as: UTF8.self)
    let errors = String(
      decoding: try Data(contentsOf: worker.directory.appendingPathComponent("errors")), as: UTF8.self)
    let last = fuzzingInput(worker.progress)
    var isComplete = false
    var peakAt: UInt64?
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 2)
      switch words.first {
      case "broken" where words.count == 3:
        try findings.note(worker.task.kind, UInt64(words[1]) ?? 0, String(words[2]), trace: "")
      case "memory" where words.count == 3:
        peakAt = UInt64(words[1])
        try findings.note(worker.task.kind, peakAt ?? 0, "took more memory than allowed: \(words[2]) MB", trace: "")
      case "counts" where words.count == 3:
        totals[worker.task.kind, default: Totals()].accepted += Int(words[1]) ?? 0
        totals[worker.task.kind, default: Totals()].refused += Int(words[2]) ?? 0
      case "end": isComplete = true
      default: break
      }
    }
    let done = isComplete ? worker.task.seeds.upperBound : last + 1
    totals[worker.task.kind, default: Totals()].inputs += done - worker.task.seeds.lowerBound
    totals[worker.task.kind, default: Totals()].seconds += Date().timeIntervalSince(worker.began)
    munmap(worker.progress, 16)
    try FileManager.default.removeItem(at: worker.directory)
    guard !isComplete else { return }
    if peakAt == nil {
      guard child.signal != 0 || FuzzLimits.isSanitized else {
        throw FuzzOptions.Mistake(
          "A worker for \(worker.task.kind.rawValue) ended with \(child.status): \(errors)\(output)")
      }
      let what: String
      switch child.signal {
      case SIGPROF: what = "took more than \(FuzzLimits.seconds) seconds"
      case SIGKILL: what = "was killed: it waited more than \(Int(FuzzLimits.patience)) seconds, or memory ran out"
      default: what = "crashed with signal \(child.signal)"
      }
      try findings.note(worker.task.kind, last, what, trace: errors)
    }
    if last + 1 < worker.task.seeds.upperBound {
      tasks.append(Task(kind: worker.task.kind, seeds: (last + 1)..<worker.task.seeds.upperBound))
    }
  }

  private func report(_ seconds: Double) {
    func column(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    print("kind           inputs  accepted   refused   ms each")
    var all: UInt64 = 0
    for kind in options.kinds {
      guard let total = totals[kind] else { continue }
      all += total.inputs
      let each = String(format: "%.2f", total.seconds * 1000 / Double(max(1, total.inputs)))
      print(
        kind.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0) + column("\(total.inputs)", 11)
          + column("\(total.accepted)", 10) + column("\(total.refused)", 10) + column(each, 10))
    }
    print("\(all) inputs in \(Int(seconds)) seconds; \(findings.count) findings.")
    findings.report()
  }
}

extension FuzzOptions {
  /// The options to pass to a worker.
  var forWorkers: [String] {
    (usesFixtures ? [] : ["--no-fixtures"]) + ["--output", output.path, "--corpus", corpus.path]
  }
}
