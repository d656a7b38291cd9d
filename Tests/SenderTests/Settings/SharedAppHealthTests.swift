import APNsProtocol
import PipelineCore
import ProviderCredentials
import Testing

@testable import Sender

/// The credential of an app, which the shards of a process see each at another time.
@Suite("The health that shards share")
struct SharedAppHealthTests {
    private let health = SharedAppHealth(
        AppHealth(
            limits: AppHealth.Limits(
                probe: Backoff(base: .seconds(10), cap: .seconds(10), floor: .seconds(10)),
                probeTimeout: .seconds(5),
                refusedShare: 0.5,
                refusedSample: 20,
                probeSample: 5,
                pendingTombstones: 10
            )
        ),
        number: 0
    )
    private let certificate = AppCredential.certificate(bundleID: "com.example.news")

    private func time(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private func note(_ edition: UInt64, _ pushType: PushType = .alert, at seconds: Int) {
        health.noteCredential(certificate, edition: edition, for: pushType, now: time(seconds))
    }

    private func fail(at seconds: Int) {
        health.change { $0.failed(.certificateRefused, now: time(seconds), random: 0) }
    }

    /// The app may be probed.
    private func mayProbe(at seconds: Int) -> Bool {
        health.change { health in
            guard case .stopped(_, let until) = health.state else { return false }
            return until <= time(seconds)
        }
    }

    @Test("Another certificate is tried at once, and once: a shard that sees it when it was refused changes nothing")
    func onceForAll() {
        note(1, at: 0)
        note(1, at: 0)
        fail(at: 1)
        #expect(!mayProbe(at: 2))
        note(2, at: 3)
        #expect(mayProbe(at: 3))
        let isGranted = health.change { $0.beginProbe(shard: 0, now: time(3), random: 0) }
        #expect(isGranted)
        fail(at: 4)
        #expect(!mayProbe(at: 4))
        note(2, at: 5)
        #expect(!mayProbe(at: 5), "another shard, which has seen the first one last")
        note(1, at: 5)
        #expect(!mayProbe(at: 5), "and one that has not seen the second yet")
        note(3, at: 6)
        #expect(mayProbe(at: 6))
    }

    @Test("A kind of credential for a push type is none for another one, and a key in a certificate's place is new")
    func pushTypes() {
        note(5, at: 0)
        fail(at: 1)
        note(7, .voip, at: 2)
        #expect(!mayProbe(at: 2), "it is the first of its type")
        health.noteCredential(.voipCertificate(bundleID: "com.example.news"), edition: 1, for: .voip, now: time(3))
        #expect(mayProbe(at: 3))
    }
}
