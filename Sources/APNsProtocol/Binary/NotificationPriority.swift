/// The time at which the device shows a notification: item 5 of command 2 [13].
public enum NotificationPriority: UInt8, Sendable, Hashable, CaseIterable {
    /// 10: at once. The notification must alert, sound or badge; with only `content-available` it is an error [13].
    case immediate = 10
    /// 5: at a time that saves the device's power [13].
    case powerSaving = 5
}
