/// Limits of the log: what a peer can make a role say must neither fill a disk nor hold a caller up.
enum LogLimits {
    /// The longest text in a line: the message, an error, a value of the metadata.
    static let textBytes = 4 << 10
    /// Most bytes of all texts of a line together.
    static let lineBytes = 16 << 10
    /// Lines of one kind that are written at once, before their rate is limited.
    static let burst = 200
    /// The time that each line of a kind takes beyond that: 20 a second.
    static let interval = Duration.milliseconds(50)
    /// Silence after which the lines of a kind that were left out are told without another line of it.
    static let silence = Duration.seconds(1)
    /// Kinds that are told apart. Messages are constant, so that there are far fewer.
    static let kinds = 512
    /// Most bytes that wait for standard error.
    static let queueBytes = 4 << 20
    /// Longest wait for standard error when the process ends.
    static let flush = Duration.seconds(2)
    /// The same when the process ends at once.
    static let hurriedFlush = Duration.milliseconds(200)
}
