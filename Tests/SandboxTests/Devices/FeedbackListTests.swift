import Testing

@testable import Sandbox

struct FeedbackListTests {
    private func entry(_ device: UInt32, _ timestamp: UInt32) -> FeedbackList.Entry {
        FeedbackList.Entry(instance: AppInstance(device: device), timestamp: timestamp)
    }

    @Test("Reading clears the list [13]")
    func readingClears() {
        var list = FeedbackList(devices: 10)
        list.add(AppInstance(device: 3), timestamp: 5)
        list.add(AppInstance(device: 1), timestamp: 6)
        #expect(list.count == 2)
        let (first, second) = (list.takeEntries(), list.takeEntries())
        #expect(first == [entry(3, 5), entry(1, 6)])
        #expect(second == [])
        #expect(list.count == 0)
    }

    @Test("An instance is listed once, with the time it was last found missing")
    func latestTimeWins() {
        var list = FeedbackList(devices: 10)
        list.add(AppInstance(device: 9), timestamp: 5)
        list.add(AppInstance(device: 0), timestamp: 6)
        list.add(AppInstance(device: 9), timestamp: 7)
        let taken = list.takeEntries()
        #expect(taken == [entry(9, 7), entry(0, 6)])
    }

    @Test("Each read lists only failures since the last [13]")
    func onlySinceTheLast() {
        var list = FeedbackList(devices: 10)
        list.add(AppInstance(device: 9), timestamp: 5)
        _ = list.takeEntries()
        list.add(AppInstance(device: 9), timestamp: 8)
        list.add(AppInstance(device: 2), timestamp: 8)
        let taken = list.takeEntries()
        #expect(taken == [entry(9, 8), entry(2, 8)])
    }
}
