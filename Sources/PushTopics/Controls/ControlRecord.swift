import BelfrySupport
import PipelineCore
import PushSchemas

/// One record of push.controls: one lever of one topic.
///
/// The record's key is `<environment>/<bundle ID>/<lever>`. The value is a ``PushSchemas/PushTopicControl``; without
/// one the lever is off. Any program may have written a record, so a reader gets a fault for whatever makes no sense.
package struct ControlRecord: Equatable, Sendable {
    package let name: AppControls.Name
    package let lever: AppControl.Lever
    /// Nil: the lever is off.
    package let setting: AppControl.Setting?
    /// The operator's words; empty when none were said.
    package let reason: String

    /// Reads a record.
    ///
    /// - Parameter value: no base address: the record has no value.
    package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(Fault) {
        (name, lever) = try Self.parse(key)
        guard value.baseAddress != nil else {
            setting = nil
            reason = ""
            return
        }
        guard let message = try? PushTopicControl(serializedBytes: Array(value)) else { throw .unreadableValue }
        guard message.environment == name.environment, message.bundleID == name.bundleID else { throw .namesDiffer }
        let setting = try Self.setting(message)
        guard setting.lever == lever else { throw .leversDiffer }
        self.setting = setting
        reason = message.reason
    }

    /// The key of a lever's records.
    package static func key(_ lever: AppControl.Lever, of name: AppControls.Name) -> [UInt8] {
        Array("\(name.environment)/\(name.bundleID)/\(lever.rawValue)".utf8)
    }

    /// The value of a record that sets a lever.
    package static func value(
        _ setting: AppControl.Setting,
        of name: AppControls.Name,
        reason: String
    ) throws -> [UInt8] {
        var message = PushTopicControl()
        message.environment = name.environment
        message.bundleID = name.bundleID
        message.reason = reason
        switch setting {
        case .pause: message.pause = PushPause()
        case .pace(let rate): message.pace.notificationsPerSecond = rate
        case .discard(let order):
            message.discard.publishedBefore = order.publishedBefore
            message.discard.ends = order.ends.sorted { $0.key < $1.key }.map { partition, offset in
                var end = PushPartitionEnd()
                end.partition = partition
                end.offset = offset
                return end
            }
        }
        return try message.serializedBytes()
    }

    /// Applies a record to the levers of all topics. One that has a fault changes none.
    ///
    /// - Parameter value: no base address: the record has no value.
    package static func apply(
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        to controls: inout AppControls
    ) throws(Fault) {
        let record = try ControlRecord(key: key, value: value)
        controls.set(record.lever, of: record.name, record.setting)
    }

    private static func parse(
        _ key: UnsafeRawBufferPointer
    ) throws(Fault) -> (name: AppControls.Name, lever: AppControl.Lever) {
        let parts = key.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let environment = String(validating: parts[0], as: UTF8.self), EnvironmentSettings.isName(environment),
            let bundle = String(validating: parts[1], as: UTF8.self), (try? RecordKey(bundleID: bundle)) != nil,
            let lever = String(validating: parts[2], as: UTF8.self).flatMap(AppControl.Lever.init(rawValue:))
        else { throw .unreadableKey }
        return (AppControls.Name(environment: environment, bundleID: bundle), lever)
    }

    /// UNIX milliseconds from 1970 to the end of the year 9999: what tools and status can show as a date.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    private static func setting(_ message: PushTopicControl) throws(Fault) -> AppControl.Setting {
        switch message.lever {
        case .pause: return .pause
        case .pace(let pace):
            guard pace.notificationsPerSecond > 0 else { throw .zeroPace }
            return .pace(notificationsPerSecond: pace.notificationsPerSecond)
        case .discard(let discard):
            var ends: [Int32: Int64] = [:]
            for end in discard.ends {
                guard end.partition >= 0, end.offset >= 0, ends.updateValue(end.offset, forKey: end.partition) == nil
                else { throw .unreadableValue }
            }
            guard times.contains(discard.publishedBefore) else { throw .unreadableValue }
            return .discard(.init(publishedBefore: discard.publishedBefore, ends: ends))
        case nil: throw .unreadableValue
        }
    }

    /// The cause for which a record is passed over.
    package enum Fault: Error, Equatable, CaseIterable, CustomStringConvertible {
        case unreadableKey
        case unreadableValue
        case leversDiffer
        case namesDiffer
        case zeroPace

        package var description: String {
            switch self {
            case .unreadableKey: "the key is not <environment>/<bundle ID>/<pause, pace or discard>"
            case .unreadableValue: "the value is no AppControl, or sets no lever"
            case .leversDiffer: "key and value name different levers"
            case .namesDiffer: "key and value name different apps"
            case .zeroPace: "the pace is 0 notifications per second; pause stops an app"
            }
        }
    }
}
