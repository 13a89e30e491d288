// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData

extension TortureSize {
  /// How many processes are killed for each case.
  static let kills = isFull ? 1000 : 4
  /// Every how many calls one is made to fail.
  static let stride = isFull ? 1 : 23
  /// How many processes run at once.
  static let workers = isFull ? 3 : 1

  /// When a process is killed.
  enum Moment {
    case call(Int)
    case microseconds(Int)
  }

  /// Every call where there are enough processes, else some; the rest at any time, spread over twice the time of a run.
  static func moments(calls: Int, duration: Int) -> [Moment] {
    let byCall = min(calls, kills - kills / 4)
    let byTime = kills - byCall
    return (0..<byCall).map { .call(1 + $0 * (calls - 1) / (byCall - 1)) }
      + (0..<byTime).map { .microseconds(2 * duration * $0 / byTime) }
  }
}

@Suite("Torture: calls that fail, and processes that are killed", .serialized)
struct TortureTests {
  #if os(Linux)
  @Test(
    "Whatever call of the file system fails, the store is the old one or the new one, and the error says what failed",
    arguments: TortureCase.chosen)
  func faults(_ torture: TortureCase) throws {
    let bench = try TortureBench(torture)
    #expect(bench.callCount > 10)
    var (refused, done) = (0, 0)
    let faults = [(FaultKindOnce, ENOSPC), (FaultKindOnce, EIO), (FaultKindOnce, EACCES), (FaultKindLasting, ENOSPC)]
    for (position, fault) in faults.enumerated() {
      for number in stride(from: 1 + position, through: bench.callCount, by: TortureSize.stride) {
        let folder = try bench.folder("fault")
        let outcome = Faults.run(below: folder, call: number, fault.0, error: fault.1) { try torture.run(in: folder) }
        let failure = outcome.failure.map { $0 as NSError }
        let place: Comment = "\(torture), call \(number) of \(bench.callCount), \(outcome.call), error \(fault.1)"
        let isNew = try bench.check(folder, place)
        // A call may fail where nothing depends on it: to sync a folder, to remove what is not needed any more.
        if failure == nil { #expect(isNew, place) }
        if let failure {
          refused += 1
          #expect(failure.domain == NSCocoaErrorDomain, "\(place): \(failure)")
          #expect(failure.localizedFailureReason?.isEmpty == false, "\(place): \(failure)")
        } else {
          done += 1
        }
      }
    }
    #expect(refused > 0)
    print("torture: \(torture.rawValue): \(bench.callCount) calls, \(refused) refused, \(done) done all the same")
  }

  @Test(
    "Whenever the process is killed, the store is the old one or the new one, with every row",
    arguments: TortureCase.chosen)
  func kills(_ torture: TortureCase) async throws {
    let bench = try TortureBench(torture)
    let moments = TortureSize.moments(calls: bench.callCount, duration: bench.duration)
    let new = try await withThrowingTaskGroup(of: Int.self) { group in
      for worker in 0..<TortureSize.workers {
        group.addTask {
          var new = 0
          for number in stride(from: worker, to: moments.count, by: TortureSize.workers)
          where try await Self.isNew(bench, killedAt: moments[number], "kill-\(number)") { new += 1 }
          return new
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(new < moments.count)
    print(
      "torture: \(torture.rawValue): \(bench.callCount) calls, \(moments.count) killed, "
        + "\(moments.count - new) old, \(new) new")
  }

  /// Whether the store is the new one after a process has been killed at some moment.
  private static func isNew(
    _ bench: TortureBench, killedAt moment: TortureSize.Moment, _ folderName: String
  ) async throws -> Bool {
    let folder = try bench.folder(folderName)
    let (path, name) = (folder.path, bench.torture.rawValue)
    let (call, time) = (moment.call, moment.time)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, name = name as String, call = call as Int, time = time as Int] in
      if call > 0 {
        faultInjectionArm(path, call, Int32(FaultKindKill.rawValue), 0)
      } else {
        Thread.detachNewThread {
          usleep(UInt32(time))
          kill(getpid(), SIGKILL)
        }
      }
      try TortureCase(rawValue: name)?.run(in: URL(fileURLWithPath: path))
      // Done before its end was to come; then it ends here.
      kill(getpid(), SIGKILL)
    }
    return try bench.check(folder, "\(bench.torture), killed at \(moment) of \(bench.callCount) calls")
  }
  #endif
}

extension TortureSize.Moment {
  fileprivate var call: Int { if case .call(let call) = self { call } else { 0 } }
  fileprivate var time: Int { if case .microseconds(let time) = self { time } else { 0 } }
}
