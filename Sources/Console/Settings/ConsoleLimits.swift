import NIOCore

/// Limits of the console: whatever a process answers, memory and time stay bounded.
enum ConsoleLimits {
    /// Entries of `--scrape`.
    static let targets = 256
    /// Processes at once, those of names included.
    static let processes = 1000
    /// From one look at a process to the next.
    static let scrapeInterval = TimeAmount.seconds(1)
    /// From a look at processes to the news for pages.
    static let tellingDelay = TimeAmount.milliseconds(250)
    /// From one look at a name's addresses to the next.
    static let resolveInterval = Duration.seconds(5)
    /// Connections to processes at once; the others wait for the next second.
    static let scrapesAtOnce = 100
    /// Time for a connection and a whole answer.
    static let scrapeTimeout = TimeAmount.seconds(3)
    /// The longest answer: that of a worker with 200 topics that lag in 100 partitions each is a quarter as long.
    static let answerBytes = 4 << 20

    /// An answer counts for sums and rates while it is younger.
    static let freshness = Duration.seconds(10)
    /// A process whose name does not lead to it any more is forgotten then.
    static let memoryOfGone = Duration.seconds(600)
    /// A partition without a holder is told from then on: a rebalance is no trouble.
    static let patienceWithUnheld = Duration.seconds(30)
    /// Rates are over this stretch.
    static let rateWindow = Duration.seconds(5)

    /// Bytes of a name or a message; the rest is cut.
    static let textBytes = 200
    /// Topics, certificates and harvests on the page.
    static let rows = 200
    /// Cursors of a topic that are read in an answer. They are sorted by partition, so that all lanes are among them.
    static let cursors = 300
    /// Partitions that are remembered and shown.
    static let partitions = 2000
    /// Larger numbers are cut to it: sums of all processes stay exact in JavaScript's numbers.
    static let count = 1 << 43
    /// Longer times are cut to it: some thirty years.
    static let seconds = 1e9

    /// Pages that follow at once.
    static let eventStreams = 32
    /// A page that does not read for so long is left.
    static let eventStreamStall = TimeAmount.seconds(12)
}
