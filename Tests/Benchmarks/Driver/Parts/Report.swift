/// One measure over several rounds.
struct Samples {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) {
        values.append(value)
    }

    /// The middle value, the mean of the two middle ones for an even count; 0 without any.
    var median: Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The median of the rounds' ratios to another measure of the same rounds: what was measured together is compared
    /// with each other, since a machine is not as fast in every round. 0 without any.
    func medianRatio(to other: Samples) -> Double {
        var ratios = Samples()
        for (value, rival) in zip(values, other.values) where rival > 0 { ratios.add(value / rival) }
        return ratios.median
    }

    /// Smallest and largest value.
    var spread: [Double] {
        [values.min() ?? 0, values.max() ?? 0]
    }
}

/// Measurements of one contender, over the rounds.
struct ContenderSamples {
    /// Notifications per second, from the start signal to the sink's last byte.
    var rate = Samples()
    /// CPU microseconds per notification, user and system, of all threads of the process.
    var cpuMicroseconds = Samples()
}
