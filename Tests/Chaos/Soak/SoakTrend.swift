/// The way that memory and descriptors of a process went in the second half of a run. Pure.
///
/// The first half belongs to the start: connections are made, buffers and tables find their sizes.
struct SoakTrend: Equatable, Sendable {
    /// Of the line of least squares through the samples, in MiB.
    let slopePerHour: Double
    /// Along that line, from the middle to the end, in MiB.
    let growth: Double
    /// The mean, in MiB.
    let resident: Double
    /// In the middle of the run, and at its end.
    let descriptors: [Int]

    /// Growth that is none: an allocator keeps and returns pages in its own time.
    static let noiseMebibytes = 4.0
    /// The same, as a share of the mean.
    static let noiseShare = 0.03
    /// Connections come and go: some, and one of each topic.
    static let descriptorNoise = 8 + CampaignPlan.topics

    /// Nil: fewer than two samples are of the second half.
    ///
    /// - Parameter samples: in order of time.
    init?(_ samples: [SoakSample]) {
        guard let last = samples.last else { return nil }
        let half = samples.filter { $0.seconds >= last.seconds / 2 }
        guard half.count >= 2, let first = half.first else { return nil }
        let memory = half.map { Double($0.residentBytes) / Double(1 << 20) }
        let middle = half.reduce(0) { $0 + $1.seconds } / Double(half.count)
        let mean = memory.reduce(0, +) / Double(half.count)
        var (covariance, variance) = (0.0, 0.0)
        for (sample, memory) in zip(half, memory) {
            covariance += (sample.seconds - middle) * (memory - mean)
            variance += (sample.seconds - middle) * (sample.seconds - middle)
        }
        let slope = variance > 0 ? covariance / variance : 0
        slopePerHour = slope * 3600
        growth = slope * (last.seconds - first.seconds)
        resident = mean
        descriptors = [first.descriptors, last.descriptors]
    }

    var isMemoryFlat: Bool { growth <= max(Self.noiseMebibytes, resident * Self.noiseShare) }
    var areDescriptorsFlat: Bool { descriptors[1] - descriptors[0] <= Self.descriptorNoise }
}
