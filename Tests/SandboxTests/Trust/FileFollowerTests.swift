import Testing

@testable import Sandbox

/// The times at which the revocation list is read again.
struct FileFollowerTests {
    private let stamp = FollowedFileState(inode: 1, sizeBytes: 100, modifiedNanoseconds: 5)

    @Test("A state of the file is read once, and any change of inode, size or time is another state")
    func readOnce() {
        var follower = FileFollower()
        let states = [
            stamp,
            FollowedFileState(inode: 2, sizeBytes: 100, modifiedNanoseconds: 5),
            FollowedFileState(inode: 2, sizeBytes: 101, modifiedNanoseconds: 5),
            FollowedFileState(inode: 2, sizeBytes: 101, modifiedNanoseconds: 4),
        ]
        for state in states {
            let actions = [follower.observe(state), follower.observe(state)]
            #expect(actions == [.load, .keep])
        }
    }

    @Test("A file that never was is nothing, one that goes away is reported once, one that comes back is read")
    func missing() {
        var follower = FileFollower()
        let actions = [nil, stamp, nil, nil, stamp, stamp].map { follower.observe($0) }
        #expect(actions == [.keep, .load, .reportMissing, .keep, .load, .keep])
    }
}
