import Glibc

/// Number of descriptors that the process may have open.
enum DescriptorLimit {
    /// Raises it as far as the system allows: many systems grant 1,024 unasked, and a gateway has a descriptor
    /// for each connection. What cannot be raised stays as it is.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
