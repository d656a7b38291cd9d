import PipelineCore
import PushTopics

/// The levers that the records of push.controls leave set. Pure.
struct LeverListing {
    private struct Place: Hashable {
        var scope: AppControls.Scope
        var lever: AppControl.Lever
    }

    private var newest: [Place: LeverLine] = [:]
    /// By the bytes of the key: the newest record of a key counts.
    private var faulty: [[UInt8]: String] = [:]

    /// Takes the next record.
    ///
    /// - Parameters:
    ///   - value: no base address: the record has none.
    ///   - setAt: its time, UNIX milliseconds.
    ///   - place: its partition and offset, as text.
    mutating func add(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, setAt: Int64?, place: String) {
        faulty[Array(key)] = nil
        do throws(ControlRecord.Fault) {
            let record = try ControlRecord(key: key, value: value)
            let scope = AppControls.Scope(record.name, lane: record.lane)
            newest[Place(scope: scope, lever: record.lever)] = record.setting.map { setting in
                LeverLine(
                    name: record.name,
                    lane: record.lane,
                    lever: record.lever,
                    setting: setting,
                    reason: record.reason,
                    setAt: setAt
                )
            }
        } catch {
            // Without a value, it takes away what other programs left.
            if value.baseAddress != nil { faulty[Array(key)] = "\(place): \(error)" }
        }
    }

    /// Ascending by environment, bundle, lane and lever; levers that name no lane stand before those of lanes.
    var lines: [LeverLine] {
        newest.values.sorted { ($0.scope, $0.lever.rawValue) < ($1.scope, $1.lever.rawValue) }
    }

    /// Records that cannot be read: where they stand, and why.
    var faults: [String] { faulty.values.sorted() }
}
