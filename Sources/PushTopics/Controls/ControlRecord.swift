import BelfrySupport
import PipelineCore
import PushSchemas
import RequestLanes

/// One record of push.controls: one lever of one topic, or of one lane of it.
///
/// The record's key is `<environment>/<bundle ID>/<lever>`, or `<environment>/<bundle ID>/lane/<lane>/<lever>`. The
/// value is a ``PushSchemas/PushTopicControl``; without one the lever is off. Any program may have written a record, so
/// a reader gets a fault for one that makes no sense.
package struct ControlRecord: Equatable, Sendable {
    package let name: AppControls.Name
    /// Nil: the key names none.
    package let lane: RequestLane?
    package let lever: AppControl.Lever
    /// Nil: the lever is off.
    package let setting: AppControl.Setting?
    /// The operator's words; empty when none were said.
    package let reason: String

    /// Reads a record.
    ///
    /// - Parameter value: no base address: the record has no value.
    package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(Fault) {
        (name, lane, lever) = try Self.parse(key)
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
    ///
    /// - Parameter lane: as ``PipelineCore/AppControl/Lever/named(for:)`` has it.
    package static func key(
        _ lever: AppControl.Lever,
        of name: AppControls.Name,
        in lane: RequestLane? = nil
    ) -> [UInt8] {
        let place = lane.map { "\(laneWord)/\($0.rawValue)/" } ?? ""
        return Array("\(name.environment)/\(name.bundleID)/\(place)\(lever.rawValue)".utf8)
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
        controls.set(record.lever, of: record.name, in: record.lane, record.setting)
    }

    private static let laneWord = "lane"

    private static func parse(
        _ key: UnsafeRawBufferPointer
    ) throws(Fault) -> (name: AppControls.Name, lane: RequestLane?, lever: AppControl.Lever) {
        let parts = key.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 5,
            let environment = String(validating: parts[0], as: UTF8.self), EnvironmentSettings.isName(environment),
            let bundle = String(validating: parts[1], as: UTF8.self), (try? RecordKey(bundleID: bundle)) != nil,
            let lever = String(validating: parts[parts.count - 1], as: UTF8.self)
                .flatMap(AppControl.Lever.init(rawValue:))
        else { throw .unreadableKey }
        let name = AppControls.Name(environment: environment, bundleID: bundle)
        guard parts.count == 5 else { return (name, nil, lever) }
        // Another key for a lever that has one would hold beside it: turning that off would leave this one on.
        guard parts[2].elementsEqual(laneWord.utf8),
            let lane = String(validating: parts[3], as: UTF8.self).flatMap(RequestLane.init(rawValue:)),
            lever.named(for: lane) == lane
        else { throw .unreadableKey }
        return (name, lane, lever)
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
            case .unreadableKey:
                "the key is neither <environment>/<bundle ID>/<pause, pace or discard> nor "
                    + "<environment>/<bundle ID>/lane/<urgent, normal or bulk>/<lever>"
            case .unreadableValue: "the value is no AppControl, or sets no lever"
            case .leversDiffer: "key and value name different levers"
            case .namesDiffer: "key and value name different apps"
            case .zeroPace: "the pace is 0 notifications per second; pause stops an app"
            }
        }
    }
}
