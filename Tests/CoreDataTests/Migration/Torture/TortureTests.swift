// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import FaultInjection
import Foundation
import Testing

@testable import CoreData

/// How much torture there is: a little by default, all of it by `make torture`.
enum TortureSize {
  static let isFull = ProcessInfo.processInfo.environment["COREDATA_TORTURE"] == "full"

  /// How many processes are killed for each case.
  static let kills = ProcessInfo.processInfo.environment["COREDATA_KILLS"].flatMap(Int.init) ?? (isFull ? 1000 : 3)
  /// Every how many calls one is made to fail.
  static let stride = isFull ? 1 : 9
}

@Suite("Torture: calls that fail, and processes that are killed", .serialized)
struct TortureTests {
  #if os(Linux)
    @Test(
      "Whatever call of the file system fails, the store is the old one or the new one, and the error says what failed",
      arguments: TortureCase.allCases)
    func faults(_ torture: TortureCase) throws {
      let bench = try TortureBench(torture)
      #expect(bench.callCount > 10)
      var (refused, done) = (0, 0)
      for (position, error) in [ENOSPC, EIO, EACCES].enumerated() {
        for number in stride(from: 1 + position * 3, through: bench.callCount, by: TortureSize.stride) {
          for kind in TortureSize.isFull ? [FaultKindOnce, FaultKindLasting] : [number % 2 == 0 ? FaultKindOnce : FaultKindLasting] {
            let folder = try bench.folder("fault")
            faultInjectionArm(folder.path, number, Int32(kind.rawValue), error)
            var failure: NSError?
            do { try torture.run(in: folder) } catch let caught { failure = caught as NSError }
            faultInjectionDisarm()
            let call = String(cString: faultInjectionCall())
            let place: Comment = "\(torture), call \(number) of \(bench.callCount), \(call), error \(error)"
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
      }
      #expect(refused > 0)
      print("torture: \(torture.rawValue): \(bench.callCount) calls, \(refused) refused, \(done) done all the same")
    }

    @Test(
      "Whenever the process is killed, the store is the old one or the new one, with every row",
      arguments: TortureCase.allCases)
    func kills(_ torture: TortureCase) async throws {
      let bench = try TortureBench(torture)
      var (old, new) = (0, 0)
      for run in 0..<TortureSize.kills {
        // Every call is met when there are more runs than calls; otherwise they are spread over the calls.
        let number = 1 + (run * bench.callCount / TortureSize.kills)
        let folder = try bench.folder("kill")
        let (path, name) = (folder.path, torture.rawValue)
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [path = path as String, name = name as String, number = number as Int] in
          faultInjectionArm(path, number, Int32(FaultKindKill.rawValue), 0)
          try TortureCase(rawValue: name)?.run(in: URL(fileURLWithPath: path))
          kill(getpid(), SIGKILL)
        }
        if try bench.check(folder, "\(torture), killed at call \(number) of \(bench.callCount)") {
          new += 1
        } else {
          old += 1
        }
      }
      #expect(old > 0)
      print("torture: \(torture.rawValue): \(bench.callCount) calls, \(old + new) killed, \(old) old, \(new) new")
    }
  #endif
}
