/// The state of a thread, as the kernel tells it in `/proc/<process>/task/<thread>/stat`.
enum ThreadState {
    /// The thread is stopped by a signal. Its name, in parentheses before the state, may hold any character.
    static func isStopped(_ stat: String) -> Bool {
        stat.split(separator: ")").last?.drop { $0 == " " }.first == "T"
    }
}
