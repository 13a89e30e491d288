// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@Suite("Progress")
struct ProgressTests {
  /// Collects what is written, with a clock that goes on by a given time before each event.
  private func output(
    _ mode: ProgressWriter.Mode, terminal: Bool = false, width: Int = 80, seconds: TimeInterval = 1,
    _ events: [ProgressEvent]
  ) -> [String] {
    var written: [String] = []
    var time: TimeInterval = 0
    let writer = ProgressWriter(mode, isTerminal: terminal, width: width, clock: { time }) { written.append($0) }
    for event in events {
      time += seconds
      writer.update(event)
    }
    writer.finish()
    return written
  }

  static let order = [0, 8000, 52340].map {
    ProgressEvent(step: 2, of: 3, title: "Model 4 -> Model 5", entity: "Order", done: $0, total: 52340)
  }

  @Test("JSON lines leave out what is not known")
  func json() {
    #expect(
      output(.json, [ProgressEvent(step: 1, of: 3), Self.order[1]]) == [
        "{\"event\":\"progress\",\"step\":1,\"of\":3}\n",
        "{\"event\":\"progress\",\"step\":2,\"of\":3,\"entity\":\"Order\",\"done\":8000,\"total\":52340}\n",
      ])
  }

  @Test("Away from a terminal every step has one line", arguments: [ProgressWriter.Mode.auto, .bar])
  func lines(mode: ProgressWriter.Mode) {
    let other = ProgressEvent(step: 2, of: 3, entity: "Legacy", done: 1, total: 2)
    #expect(
      output(
        mode, [ProgressEvent(step: 1, of: 3)] + Self.order + [other, ProgressEvent(step: 3, of: 3, title: "Verify")])
        == ["step 1 of 3\n", "step 2 of 3: Model 4 -> Model 5\n", "step 3 of 3: Verify\n"])
  }

  @Test("A terminal gets a bar that is drawn over itself")
  func bar() {
    #expect(
      output(.auto, terminal: true, Self.order) == [
        "\r[------------------------]  2/3  Order  0 of 52,340\u{1B}[K",
        "\r[###---------------------]  2/3  Order  8,000 of 52,340\u{1B}[K",
        "\r[########################]  2/3  Order  52,340 of 52,340\u{1B}[K",
        "\n",
      ])
  }

  @Test("Without a count there is no bar, and nothing is made up")
  func noTotal() {
    #expect(
      output(
        .bar, terminal: true,
        [
          ProgressEvent(step: 1, of: 2, title: "Copy"), ProgressEvent(step: 1, of: 2, entity: "Order", done: 1500),
          ProgressEvent(step: 1, of: 2, entity: "Empty", done: 0, total: 0),
        ]) == [
          "\r1/2  Copy\u{1B}[K", "\r1/2  Order  1,500\u{1B}[K", "\r1/2  Empty  0 of 0\u{1B}[K", "\n",
        ])
  }

  @Test("A narrow terminal gets a shorter bar, then none, then a cut text")
  func narrow() {
    let event = [Self.order[1]]
    #expect(output(.bar, terminal: true, width: 42, event)[0] == "\r[#---------]  2/3  Order  8,000 of 52,340\u{1B}[K")
    #expect(output(.bar, terminal: true, width: 39, event)[0] == "\r2/3  Order  8,000 of 52,340\u{1B}[K")
    #expect(output(.bar, terminal: true, width: 16, event)[0] == "\r2/3  Order  8,…\u{1B}[K")
  }

  @Test("Events that follow too soon are held back; beginnings, ends and the last one are not")
  func throttling() {
    let events = [0, 1, 2, 3, 4].map { ProgressEvent(step: 1, of: 1, entity: "A", done: $0, total: 4) }
    func done(_ events: [ProgressEvent], seconds: TimeInterval) -> [String] {
      output(.json, seconds: seconds, events).map { line in
        String(line.drop { $0 != "d" }.prefix { $0 != "," }.suffix(1))
      }
    }
    #expect(done(events, seconds: 0.001) == ["0", "4"])
    #expect(done(Array(events.prefix(3)), seconds: 0.001) == ["0", "2"])
    #expect(done(events, seconds: 0.06) == ["0", "2", "4"])
    let next = ProgressEvent(step: 1, of: 1, entity: "B", done: 7, total: 9)
    #expect(output(.json, seconds: 0.001, Array(events.prefix(2)) + [next]).count == 2)
  }

  @Test("The same event is written once, and none at all in silence")
  func silence() {
    #expect(output(.json, [Self.order[0], Self.order[0]]).count == 1)
    #expect(output(.none, terminal: true, Self.order) == [])
  }
}
