import SeededNumbers

/// Picks devices of a topic that change their state by themselves, and the times. The same ones for the same seed and
/// rates.
///
/// Every tick is a second. In each, every kind of change asks a number of devices that are picked by chance, a device
/// of another state than the change is from stays as it is: so each device of that state is asked at the rate that is
/// set, whatever the others do. How many are asked depends on the rate alone, and fractions are carried over; so what
/// is picked does not depend on what else happens to the devices.
struct PopulationChurn: Sendable {
    /// A device that is asked to change.
    struct Pick: Sendable, Equatable {
        let device: Int
        /// `nil` = any but removed.
        let from: DevicePopulation.Reachability?
        let to: DevicePopulation.Reachability
    }

    private struct Change: Sendable {
        let name: String
        let from: DevicePopulation.Reachability?
        let to: DevicePopulation.Reachability
        /// Devices still to be asked. A rest below 1 is carried over to the next tick.
        var due = 0.0
    }

    /// Rates that hold from the next tick on. Outside of ``ChurnRates/range`` is the caller's mistake.
    var rates: ChurnRates

    private let devices: Int
    private var random: SeededGenerator
    private var changes = [
        Change(name: "offline", from: .online, to: .offline),
        Change(name: "online", from: .offline, to: .online),
        Change(name: "uninstalled", from: .online, to: .uninstalled),
        Change(name: "reinstalled", from: .uninstalled, to: .online),
        Change(name: "removed", from: nil, to: .removed),
    ]

    init(devices: Int, rates: ChurnRates, seed: UInt64) {
        self.devices = devices
        self.rates = rates
        random = SeededGenerator(seed: seed)
    }

    /// A second has passed.
    mutating func tick() {
        for index in changes.indices {
            changes[index].due += rates[changes[index].name] * Double(devices) / 3600
        }
    }

    /// The next device that is asked to change; `nil` when there is none until the next tick.
    mutating func next() -> Pick? {
        for index in changes.indices where changes[index].due >= 1 {
            changes[index].due -= 1
            let device = Int(random.next().multipliedFullWidth(by: UInt64(devices)).high)
            return Pick(device: device, from: changes[index].from, to: changes[index].to)
        }
        return nil
    }
}
